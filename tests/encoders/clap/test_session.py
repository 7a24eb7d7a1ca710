"""Towers of other exports: what they take is read from the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the networks under test are written with onnx")

from onnx import TensorProto, helper  # noqa: E402

from prism_audio.encoders.clap.session import TowerSession  # noqa: E402
from prism_audio.errors import AssetError  # noqa: E402


def network(path: Path, inputs: dict, nodes: list, output: str = "text_embeds") -> Path:
    """A network of a few nodes that ends in a row of four numbers an item."""
    graph = helper.make_graph(
        nodes,
        "test",
        [
            helper.make_tensor_value_info(name, kind, shape)
            for name, (kind, shape) in inputs.items()
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor("ones", TensorProto.FLOAT, [1, 4], [1.0] * 4)],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


def summed(name: str, to: str, axes: list[int]) -> list:
    """Nodes that add up an input of any type over all its axes but the first."""
    return [
        helper.make_node("Cast", [name], [f"{name}_float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", [f"{name}_float"], [to], axes=axes, keepdims=0),
    ]


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
def test_a_mask_is_all_ones_because_nothing_is_padded(tmp_path, kind):
    nodes = [
        *summed("input_ids", "a", [1]),
        *summed("attention_mask", "b", [1]),
        *summed("token_type_ids", "c", [1]),
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        helper.make_node("Add", ["ab", "c"], ["sum"]),
        helper.make_node("Unsqueeze", ["sum", "axis"], ["column"]),
        helper.make_node("MatMul", ["column", "ones"], ["text_embeds"]),
    ]
    nodes.insert(0, helper.make_node("Constant", [], ["axis"], value_ints=[1]))
    names = ("input_ids", "attention_mask", "token_type_ids")
    path = network(tmp_path / "a.onnx", {name: (kind, ["n", "l"]) for name in names}, nodes)
    tower = TowerSession(path, "input_ids", "text_embeds")
    rows = tower.run(np.array([[1, 2, 3], [4, 5, 6]]))
    np.testing.assert_allclose(rows, [[2] * 4, [5] * 4])
    assert (tower.width, tower.batches) == (4, True)


def test_a_fused_export_gets_four_pictures_and_the_truth_about_length(tmp_path):
    nodes = [
        helper.make_node("Constant", [], ["axis"], value_ints=[1]),
        helper.make_node("Slice", ["input_features", "three", "four", "axis"], ["last"]),
        *summed("last", "picture", [1, 2, 3]),
        *summed("is_longer", "longer", [1]),
        helper.make_node("Sub", ["picture", "longer"], ["sum"]),
        helper.make_node("Unsqueeze", ["sum", "axis"], ["column"]),
        helper.make_node("MatMul", ["column", "ones"], ["audio_embeds"]),
    ]
    nodes.insert(0, helper.make_node("Constant", [], ["three"], value_ints=[3]))
    nodes.insert(0, helper.make_node("Constant", [], ["four"], value_ints=[4]))
    inputs = {
        "input_features": (TensorProto.FLOAT, ["n", 4, "t", "f"]),
        "is_longer": (TensorProto.BOOL, ["n", 1]),
    }
    path = network(tmp_path / "a.onnx", inputs, nodes, "audio_embeds")
    tower = TowerSession(path, "input_features", "audio_embeds")
    pictures = np.stack([np.full((1, 5, 3), value, np.float32) for value in (2.0, 7.0)])
    np.testing.assert_allclose(tower.run(pictures), [[2] * 4, [7] * 4])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"input_ids": TensorProto.INT64, "speaker": TensorProto.INT64}, "takes .*speaker"),
        ({"tokens": TensorProto.INT64}, "takes tokens"),
        ({"input_ids": TensorProto.STRING}, "string"),
    ],
)
def test_an_input_that_is_not_known_is_named(tmp_path, given, said):
    inputs = {name: (kind, ["n", 4]) for name, kind in given.items()}
    first = next(iter(given))
    if given[first] == TensorProto.STRING:
        nodes = [helper.make_node("Shape", [first], ["shape"])]
        nodes += [helper.make_node("Cast", ["shape"], ["row"], to=TensorProto.FLOAT)]
        nodes += [helper.make_node("Expand", ["ones", "shape"], ["text_embeds"])]
    else:
        nodes = [
            helper.make_node("Cast", [first], ["float"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["float", "ones"], ["text_embeds"]),
        ]
    path = network(tmp_path / "a.onnx", inputs, nodes)
    with pytest.raises(AssetError, match=said):
        TowerSession(path, "input_ids", "text_embeds")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"\x08\x01nonsense")
    with pytest.raises(AssetError, match=r"cannot load .*a\.onnx"):
        TowerSession(tmp_path / "a.onnx", "input_ids", "text_embeds")

"""Networks without their weights: every tensor is found again where the outline says it is."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the networks under test are written with onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from prism_audio.encoders.clap.weights import outline  # noqa: E402


def network(large: np.ndarray) -> onnx.ModelProto:
    """A product with a large and a small tensor; the large one says itself where it lies."""
    tensor = numpy_helper.from_array(large, "large")
    tensor.data_location = TensorProto.DEFAULT  # written out, as the quantiser does
    small = numpy_helper.from_array(np.float32(2), "small")
    nodes = [
        helper.make_node("MatMul", ["x", "large"], ["product"]),
        helper.make_node("Mul", ["product", "small"], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in (("x", large.shape[0]), ("y", large.shape[1]))
    ]
    graph = helper.make_graph(nodes, "test", values[:1], values[1:], [tensor, small])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_large_tensor_lies_where_the_outline_says(tmp_path):
    large = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)
    path = tmp_path / "a.onnx"
    onnx.save(network(large), path)
    written = outline(path)
    assert len(written) < 500 < path.stat().st_size
    model = onnx.load_model_from_string(written)
    first, second = model.graph.initializer
    place = {entry.key: entry.value for entry in first.external_data}
    assert (first.data_location, place["location"]) == (TensorProto.EXTERNAL, "a.onnx")
    found = np.fromfile(path, np.float32, large.size, offset=int(place["offset"]))
    np.testing.assert_array_equal(found.reshape(large.shape), large)
    assert int(place["length"]) == large.nbytes
    onnx.load_external_data_for_model(model, str(tmp_path))
    np.testing.assert_array_equal(numpy_helper.to_array(model.graph.initializer[0]), large)
    assert numpy_helper.to_array(second) == 2
    assert model.graph.node == network(large).graph.node


def test_tensors_that_already_lie_elsewhere_stay_there(tmp_path):
    large = np.ones((40, 30), np.float32)
    path = tmp_path / "a.onnx"
    onnx.save(network(large), path, save_as_external_data=True, location="a.onnx_data")
    assert onnx.load_model_from_string(outline(path)) == onnx.load(path, load_external_data=False)


@pytest.mark.parametrize("length", [0, 1, 30, 400, -1])
def test_a_file_that_ends_too_early_is_refused(tmp_path, length):
    path = tmp_path / "a.onnx"
    onnx.save(network(np.ones((40, 30), np.float32)), path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"ends within|empty"):
        outline(path)

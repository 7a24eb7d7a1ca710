from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from prism_audio import PRISM, Adapter
from prism_audio.errors import PrismError
from prism_audio.export.arrays import write_json, write_npz
from prism_audio.export.c_header import write_c_header
from prism_audio.export.onnx import check_onnx, onnx_model, write_onnx
from prism_audio.export.sentence_transformers import write_modules
from prism_audio.model.facts import Facts
from tests.helpers.heads import c_labels, c_predictions, onnx_outputs

ODD = (
    'say "hi"',
    "??/ back\\slash",
    "犬の鳴き声 1",
    "*/ int x; /*",
    "tab\tnew\nline",
    "%d %s",
    "é7",
)


@pytest.fixture(scope="module", params=["float32", "float64"])
def adapter(request: pytest.FixtureRequest) -> Adapter:
    """A real calibration in 20 dimensions, with labels that no format likes."""
    rng = np.random.default_rng(0)
    T = rng.standard_normal((len(ODD), 20))
    E = T[rng.integers(len(T), size=400)] + 0.7 * rng.standard_normal((400, 20)) + 0.5
    kind = np.dtype(request.param)
    model = PRISM().fit(E.astype(kind), prototypes=T.astype(kind), labels=ODD)
    assert model.verdict_ != "zero-shot"
    return model.adapter_


@pytest.fixture(scope="module")
def probes() -> np.ndarray:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 20))
    scaled = [rows, 1e-20 * rows[:5], 1e20 * rows[:5], np.zeros((1, 20))]
    return np.concatenate(scaled).astype(np.float32)


def test_arrays_are_the_folded_head(adapter: Adapter, probes: np.ndarray, tmp_path: Path) -> None:
    write_json(adapter, tmp_path / "head.json")
    write_npz(adapter, tmp_path / "head.npz")
    told = json.loads((tmp_path / "head.json").read_text(encoding="utf-8"))
    with np.load(tmp_path / "head.npz", allow_pickle=False) as held:
        for found in (told, held):
            assert tuple(found["labels"]) == ODD
            unit = probes[:300] / np.linalg.norm(probes[:300], axis=1, keepdims=True)
            scores = unit @ np.array(found["prototypes"]).T + np.array(found["biases"])
            np.testing.assert_array_equal(scores.argmax(axis=1), adapter.predict(probes[:300]))
    assert told["format"] == "prism-head"


def test_c_head_compiles_and_agrees(adapter: Adapter, probes: np.ndarray, tmp_path: Path) -> None:
    write_c_header(adapter, tmp_path / "site.h")
    labels, scores = c_predictions(tmp_path / "site.h", probes, tmp_path)
    np.testing.assert_array_equal(labels, adapter.predict(probes))
    A, b = adapter.fold()
    unit = probes[:300].astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    np.testing.assert_allclose(scores[:300], unit @ A + b, atol=1e-5)
    np.testing.assert_allclose(scores[-1], b, atol=1e-6)  # silence


def test_c_labels_survive(adapter: Adapter, tmp_path: Path) -> None:
    write_c_header(adapter, tmp_path / "site.h")
    assert tuple(c_labels(tmp_path / "site.h", tmp_path)) == ODD
    assert (tmp_path / "site.h").read_bytes().isascii()


@pytest.mark.parametrize("place", ["*/ #error", "back\\", "line\nbreak", "??/"])
def test_no_name_breaks_out_of_the_comment(place: str, tmp_path: Path) -> None:
    adapter = Adapter.zero_shot(np.eye(3), ("a", "b", "c"), facts=Facts(place=place), encoder=place)
    write_c_header(adapter, tmp_path / "site.h")
    labels, _ = c_predictions(tmp_path / "site.h", np.eye(3), tmp_path)
    np.testing.assert_array_equal(labels, [0, 1, 2])


def test_onnx_agrees(adapter: Adapter, probes: np.ndarray, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    assert write_onnx(adapter, tmp_path / "site.onnx") <= 1e-5
    scores, label = onnx_outputs(tmp_path / "site.onnx", probes)
    np.testing.assert_allclose(scores, adapter.scores(probes), atol=1e-5)
    np.testing.assert_array_equal(label, adapter.predict(probes))
    one, _ = onnx_outputs(tmp_path / "site.onnx", probes[:1])
    np.testing.assert_allclose(one, scores[:1], atol=1e-6)
    told = {prop.key: prop.value for prop in onnx.load(tmp_path / "site.onnx").metadata_props}
    assert tuple(json.loads(told["labels"])) == ODD


def test_wrong_onnx_is_never_kept(
    adapter: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    other = Adapter.zero_shot(adapter.prototypes[::-1], adapter.labels)
    model = onnx_model(other)
    with pytest.raises(PrismError, match="differs"):
        check_onnx(model, adapter)
    monkeypatch.setattr("prism_audio.export.onnx.onnx_model", lambda _: model)
    with pytest.raises(PrismError, match="nothing was written"):
        write_onnx(adapter, tmp_path / "site.onnx")
    assert list(tmp_path.iterdir()) == []


def test_modules_by_hand(adapter: Adapter, probes: np.ndarray, tmp_path: Path) -> None:
    write_modules(adapter, tmp_path / "modules")
    modules = json.loads((tmp_path / "modules" / "modules.json").read_text())
    assert [module["path"] for module in modules] == ["0_Normalize", "1_Dense", "2_Normalize"]
    weights = load_file(tmp_path / "modules" / "1_Dense" / "model.safetensors")
    T = load_file(tmp_path / "modules" / "prototypes.safetensors")["prototypes"]
    unit = probes[:300] / np.linalg.norm(probes[:300], axis=1, keepdims=True)
    moved = unit @ weights["linear.weight"].T + weights["linear.bias"]
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    np.testing.assert_allclose(moved, adapter.transform(probes[:300]), atol=1e-5)
    np.testing.assert_allclose(moved @ T.T, adapter.scores(probes[:300]), atol=1e-5)


def test_modules_by_sentence_transformers(
    adapter: Adapter, probes: np.ndarray, tmp_path: Path
) -> None:
    models = pytest.importorskip("sentence_transformers.models")
    import torch

    write_modules(adapter, tmp_path / "modules")
    features = {"sentence_embedding": torch.from_numpy(probes[:300])}
    for module in json.loads((tmp_path / "modules" / "modules.json").read_text()):
        kind = getattr(models, module["type"].rpartition(".")[2])
        features = kind.load(str(tmp_path / "modules" / module["path"]))(features)
    np.testing.assert_allclose(
        features["sentence_embedding"].detach().numpy(), adapter.transform(probes[:300]), atol=1e-5
    )


def test_a_folder_of_the_users_is_left_alone(adapter: Adapter, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(PrismError, match="it exists"):
        write_modules(adapter, tmp_path / "mine")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "letter.txt"]

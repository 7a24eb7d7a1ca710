"""CLAP by onnxruntime: the contract, the same values as PyTorch, files that are named when wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the model under test is made with PyTorch")
pytest.importorskip("transformers", reason="the model under test is made with transformers")
onnx = pytest.importorskip("onnx", reason="the model under test is written with onnx")

from prism_audio.encoders.clap.encoder import ClapEncoder  # noqa: E402
from prism_audio.encoders.clap.onnx_encoder import OnnxClapEncoder  # noqa: E402
from prism_audio.errors import AssetError, InputError  # noqa: E402
from tests.helpers.clap_tiny import SHORT, WORDS, sounds, write_onnx_folder  # noqa: E402
from tests.helpers.encoder_contract import CHECKS  # noqa: E402


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def folder(request, tmp_path_factory):
    return write_onnx_folder(tmp_path_factory.mktemp("clap") / "onnx", request.param)


@pytest.fixture(scope="module", params=["fp32", "int8"])
def encoder(request, folder):
    return OnnxClapEncoder(folder, precision=request.param, threads=2)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check, encoder):
    check(encoder)


def lengths_of_sound(encoder, count=10):
    """Sounds of 0.2 s to a whole window, filled as the model wants them."""
    whole = sounds(count, samples=SHORT)
    lengths = np.linspace(9_600, whole.shape[1], count).astype(int)
    return np.stack([encoder.pad(sound[:n]) for sound, n in zip(whole, lengths, strict=True)])


def test_float32_is_what_pytorch_computes(folder):
    exact, judge = OnnxClapEncoder(folder), ClapEncoder(folder.parent / f"{folder.name}-hub")
    windows = lengths_of_sound(judge)
    texts = [*WORDS, "rain", "a dog barks twice in the rain and then it is quiet", "ä 鐘"]
    cosines = (exact.embed_windows(windows) * judge.embed_windows(windows)).sum(axis=1)
    np.testing.assert_allclose(cosines, 1, atol=1e-5)
    np.testing.assert_allclose(exact.embed_text(texts), judge.embed_text(texts), atol=1e-5)
    assert (exact.dim, exact.rate, exact.window) == (judge.dim, judge.rate, judge.window)


def test_eight_bits_are_near(folder):
    exact, small = (OnnxClapEncoder(folder, precision=kind) for kind in ("fp32", "int8"))
    windows = sounds(6, samples=SHORT)
    cosines = (exact.embed_windows(windows) * small.embed_windows(windows)).sum(axis=1)
    assert cosines.min() > 0.98


def test_windows_are_the_same_to_the_bit_in_any_company(encoder):
    windows = sounds(3, samples=SHORT)
    together = encoder.embed_windows(windows)
    for window, row in zip(windows, together, strict=True):
        np.testing.assert_array_equal(encoder.embed_windows(window[None])[0], row)


def test_the_text_tower_is_not_loaded_for_sound(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "onnx" / "text_model.onnx").write_bytes(b"not a network")
    encoder = OnnxClapEncoder(copy)
    encoder.embed_windows(sounds(1, samples=SHORT))
    with pytest.raises(AssetError, match=r"cannot load .*text_model\.onnx"):
        encoder.embed_text(["rain"])


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at Linux's list of maps")
def test_the_text_tower_is_dropped_when_sound_is_embedded(folder, tmp_path):
    encoder = OnnxClapEncoder(shutil.copytree(folder, tmp_path / "copy"))
    weights = str(tmp_path / "copy" / "onnx" / "text_model.onnx")
    first = encoder.embed_text(["rain"])
    assert weights in Path("/proc/self/maps").read_text()
    encoder.embed_windows(sounds(1, samples=SHORT))
    assert weights not in Path("/proc/self/maps").read_text()
    np.testing.assert_array_equal(encoder.embed_text(["rain"]), first)


def test_fingerprint_is_of_the_content(folder, encoder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "elsewhere")
    exact = OnnxClapEncoder(folder)
    assert OnnxClapEncoder(copy).fingerprint == exact.fingerprint
    assert OnnxClapEncoder(copy, precision="int8").fingerprint != exact.fingerprint
    settings = json.loads((copy / "preprocessor_config.json").read_text())
    (copy / "preprocessor_config.json").write_text(json.dumps(settings | {"frequency_min": 60}))
    assert OnnxClapEncoder(copy).fingerprint != exact.fingerprint
    other = shutil.copytree(folder, tmp_path / "weights")
    model = onnx.load(other / "onnx" / "text_model.onnx")
    model.doc_string = "changed"
    onnx.save(model, other / "onnx" / "text_model.onnx")
    assert OnnxClapEncoder(other).fingerprint != exact.fingerprint


def test_text_that_does_not_fit_is_not_cut(encoder):
    with pytest.raises(InputError, match="98 tokens"):
        encoder.embed_text(["short", "dog " * 100])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", None, "config.json is not there"),
        ("config.json", '{"model_type": "bert"}', "'bert'"),
        ("config.json", "[]", "no JSON object"),
        ("preprocessor_config.json", None, "preprocessor_config.json"),
        ("preprocessor_config.json", '{"feature_size": "many"}', "not numbers"),
        ("preprocessor_config.json", '{"feature_extractor_type": "ViT"}', "for ViT"),
        ("tokenizer.json", None, "tokenizer.json is not there"),
        ("tokenizer.json", "{}", "is not a tokenizer"),
        ("onnx/audio_model.onnx", None, "lacks onnx/audio_model.onnx"),
    ],
)
def test_a_missing_or_wrong_file_is_named(folder, tmp_path, name, content, said):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / name).unlink()
    if content is not None:
        (copy / name).write_text(content)
    with pytest.raises(AssetError, match=said):
        OnnxClapEncoder(copy, precision="fp32")


def test_without_float32_the_folder_means_eight_bits(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    for tower in ("audio", "text"):
        (copy / "onnx" / f"{tower}_model.onnx").unlink()
    small = OnnxClapEncoder(folder, precision="int8")
    assert OnnxClapEncoder(copy).fingerprint == small.fingerprint


def test_wrong_options_are_named(folder):
    with pytest.raises(InputError, match="threads"):
        OnnxClapEncoder(folder, threads=0)
    with pytest.raises(InputError, match="fp16"):
        OnnxClapEncoder(folder, precision="fp16")

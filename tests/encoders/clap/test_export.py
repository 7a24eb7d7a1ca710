"""``prism export-encoder``: a folder that is whole, checked and says how far it is from PyTorch."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="exporting needs PyTorch")
pytest.importorskip("transformers", reason="exporting needs transformers")
pytest.importorskip("onnx", reason="exporting needs onnx")

from prism_audio.cli import app
from prism_audio.encoders import load_encoder
from prism_audio.encoders.clap.encoder import ClapEncoder
from prism_audio.encoders.clap.export import htsat, write
from prism_audio.encoders.clap.export.drift import Probe, made_sounds, measure_drift
from prism_audio.encoders.clap.export.write import export_clap
from prism_audio.encoders.clap.onnx_encoder import OnnxClapEncoder
from prism_audio.errors import AssetError, InputError, PrismError
from tests.helpers.clap_tiny import (
    SHORT,
    WORDS,
    full_model,
    laion_state,
    sounds,
    tiny_model,
    write_hub_folder,
    write_laion_file,
    write_tokenizer,
)

BOTH = pytest.mark.parametrize("fused", [True, False], ids=["fused", "unfused"])


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("words") / "roberta-base")


def test_the_command_writes_what_load_encoder_reads(tmp_path, tokenizer):
    path = write_laion_file(tokenizer.parent / "clap.pt", laion_state(tiny_model(False)))
    out = tmp_path / "clap-onnx"
    done = CliRunner().invoke(
        app, ["export-encoder", str(path), "-o", str(out), "-l", "rain, siren", "--json"]
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["drift"]["fp32"]["one_minus_cosine"]["audio"]["largest"] < 1e-6
    assert told["drift"]["fp32"]["same_label"] == 1
    assert told["bytes"]["int8"] < told["bytes"]["fp32"]
    assert json.loads((out / "drift.json").read_text()) == told["drift"]
    encoder = load_encoder(str(out))
    assert isinstance(encoder, OnnxClapEncoder)
    assert (encoder.id, encoder.dim) == (str(out), 24)


@BOTH
@pytest.mark.parametrize("depths", [(2,), (2, 2, 2)], ids=["one stage", "three stages"])
def test_every_depth_is_what_pytorch_computes(tmp_path, tokenizer, fused, depths):
    # One stage has windows over a large picture, the last of three is a single window.
    hub = write_hub_folder(tmp_path / "hub", tiny_model(fused, depths=depths, side=128), tokenizer)
    drifts = export_clap(
        ClapEncoder(hub), tmp_path / "onnx", Probe(sounds(2, samples=SHORT), WORDS)
    )
    assert drifts["fp32"].worst < 1e-6


def test_a_wrong_graph_is_not_kept(tmp_path, tokenizer, monkeypatch):
    hub = write_hub_folder(tmp_path / "hub", tiny_model(False, side=128), tokenizer)
    monkeypatch.setattr(htsat, "_FAR", 0.0)
    with pytest.raises(AssetError, match="differ from PyTorch"):
        export_clap(ClapEncoder(hub), tmp_path / "onnx", Probe(sounds(2, samples=SHORT), WORDS))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hub"]


def test_a_folder_in_use_is_not_overwritten(tmp_path, tokenizer):
    encoder = ClapEncoder(
        write_hub_folder(tmp_path / "hub", tiny_model(False, side=128), tokenizer)
    )
    with pytest.raises(PrismError, match="it exists"):
        export_clap(encoder, tmp_path / "hub", Probe(sounds(1, samples=SHORT), WORDS))
    encoder.model.config.audio_config.hidden_act = "relu"
    with pytest.raises(InputError, match="cannot be exported"):
        export_clap(encoder, tmp_path / "new", Probe(sounds(1, samples=SHORT), WORDS))
    assert not (tmp_path / "new").exists()


def test_without_onnx_the_remedy_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(PrismError, match=r"prism-audio\[clap,onnx\]"):
        write.export_clap(None, tmp_path / "new", None)


def clips(encoder: ClapEncoder, count: int) -> list[np.ndarray]:
    """Clips of 0.2 to 30 s."""
    chance = np.random.default_rng(1)
    made = made_sounds(encoder, count)
    lengths = np.geomspace(0.2, 30, count)
    return [
        np.resize(sound, round(seconds * encoder.rate)) * np.float32(chance.uniform(0.3, 1))
        for sound, seconds in zip(made, lengths, strict=True)
    ]


@pytest.mark.slow
@BOTH
def test_full_size_against_transformers(tmp_path, tokenizer, fused):
    """HTSAT-tiny and RoBERTa-base with random weights: 50 clips of 0.2 to 30 s and 50 texts."""
    from prism_audio.encoders import embed_audio

    hub = write_hub_folder(tmp_path / "hub", full_model(fused), tokenizer)
    judge = ClapEncoder(hub)
    labels = [f"{word} {number}" for number in range(10) for word in WORDS]
    drifts = export_clap(judge, tmp_path / "onnx", Probe(made_sounds(judge, 12), labels))
    exact = OnnxClapEncoder(tmp_path / "onnx")
    recordings = [(clip, judge.rate) for clip in clips(judge, 50)]
    rows = [embed_audio(encoder, recordings) for encoder in (judge, exact)]
    assert (1 - (rows[0] * rows[1]).sum(axis=1)).max() < 1e-4
    assert drifts["fp32"].text[1] < 1e-4
    windows = made_sounds(judge, 6)
    for kind in ("fp32", "int8"):
        encoder = OnnxClapEncoder(tmp_path / "onnx", precision=kind)
        together = encoder.embed_windows(windows)
        alone = np.concatenate([encoder.embed_windows(window[None]) for window in windows])
        np.testing.assert_allclose(together, alone, atol=1e-5)
    drift = measure_drift(judge, encoder, Probe(windows, labels))
    print(f"int8: {drift.document()}")

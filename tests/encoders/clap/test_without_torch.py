"""CLAP where PyTorch, transformers and onnx cannot be imported: every command that takes an encoder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch", reason="the model under test is made with PyTorch")
pytest.importorskip("transformers", reason="the model under test is made with transformers")
pytest.importorskip("onnx", reason="the model under test is written with onnx")

from tests.helpers.clap_tiny import write_onnx_folder

# A process that cannot import them, and to which the network is closed.
BLOCKED = """
import socket, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "onnx", "huggingface_hub"):
            raise ImportError(f"{name} is blocked", name=name)
sys.meta_path.insert(0, Blocker())
def refuse(*args, **options):
    raise OSError("no network in this test")
socket.socket.connect = socket.getaddrinfo = refuse
"""
RUN = BLOCKED + "from prism_audio.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_onnx_folder(tmp_path_factory.mktemp("clap") / "onnx", False)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("sounds")
    chance = np.random.default_rng(0)
    for number in range(4):
        sound = 0.1 * chance.standard_normal(16_000) * (1 + number)
        soundfile.write(place / f"{number}.wav", sound.clip(-1, 1), 16_000)
    return place


def run(*words: object, home: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
    )


def test_classify_works_and_leaves_no_trace_of_telemetry(folder, recordings, tmp_path):
    done = run(
        "classify", recordings, "--labels", "rain, siren", "--encoder", folder, "--json",
        home=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 4
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_every_command_that_takes_an_encoder(folder, recordings, tmp_path):
    small, adapter = f"onnx-int8:{folder}", tmp_path / "site.safetensors"
    labels = ("--labels", "rain, siren")
    for words in (
        ("calibrate", recordings, *labels, "--encoder", small, "-o", adapter),
        ("classify", recordings, "--adapter", adapter),
        ("listen", recordings / "0.wav", "--adapter", adapter),
        ("embed", recordings, "--encoder", small, "-o", tmp_path / "store"),
    ):
        done = run(*words, home=tmp_path)
        assert done.returncode == 0, (words, done.stderr)


def test_a_hub_id_names_the_way_without_pytorch(tmp_path):
    done = run(
        "classify", tmp_path, "--labels", "rain", "--encoder", "laion/clap-htsat-fused",
        home=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--encoder clap" in done.stderr
    assert "onnx:HUB_ID" in done.stderr

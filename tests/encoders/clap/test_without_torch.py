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

from prism_audio.store.rows import open_table
from tests.helpers.clap_tiny import write_onnx_folder

# A process that cannot import them; and one to which the network is closed, too.
BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "onnx", "huggingface_hub"):
            raise ImportError(f"{name} is blocked", name=name)
sys.meta_path.insert(0, Blocker())
"""
OFFLINE = """
import socket
def refuse(*args, **options):
    raise OSError("no network in this test")
socket.socket.connect = socket.getaddrinfo = refuse
"""
MAIN = "from prism_audio.cli import main; main()"


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


def surroundings(home: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def run(*words: object, home: Path, before: str = BLOCKED + OFFLINE) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", before + MAIN, *map(str, words)],
        capture_output=True,
        text=True,
        env=surroundings(home),
    )


def test_classify_works_and_leaves_no_trace_of_telemetry(folder, recordings, tmp_path):
    done = run(
        "classify", recordings, "--labels", "rain, siren", "--encoder", folder, "--json",
        home=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 4
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent.name for path in written] == ["prototypes"]


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


@pytest.mark.slow
def test_the_service_answers_with_it(folder, recordings, tmp_path):
    httpx = pytest.importorskip("httpx", reason="asks a real service")
    words = ["serve", "--encoder", folder, "--labels", "rain, siren", "--port", 0, "--json"]
    command = [sys.executable, "-c", BLOCKED + MAIN, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=surroundings(tmp_path)) as served:
        try:
            url = json.loads(served.stdout.readline())["url"].rstrip("/")
            files = [("files", (path.name, path.read_bytes())) for path in recordings.glob("*.wav")]
            answer = httpx.post(f"{url}/v1/classify", files=files, timeout=60)
        finally:
            served.terminate()
    assert answer.status_code == 200, answer.text
    told = {row["file"]: row["label"] for row in answer.json()["results"]}
    done = run(
        "classify", recordings, "--labels", "rain, siren", "--encoder", folder, "--json",
        home=tmp_path,
    )  # fmt: skip
    rows = json.loads(done.stdout)["rows"]
    assert told == {Path(row["file"]).name: row["label"] for row in rows}


@pytest.mark.slow
def test_the_bench_takes_it(folder, tmp_path):
    pytest.importorskip("matplotlib", reason="the bench draws")
    from tests.helpers.tiny_bench import backgrounds, dataset

    dataset(tmp_path / "data")
    backgrounds(tmp_path / "places")
    (tmp_path / "tones.toml").write_text(
        f'dataset = "esc50"\nencoder = "{folder}"\nprompts = "plain"\n'
        'methods = ["zero_shot", "prism"]\nprotocols = ["transductive"]\n[noise]\nsnrs = [0]\n'
    )
    done = run(
        "bench", tmp_path / "tones.toml", "--data", tmp_path / "data", "--workers", 1,
        "--backgrounds", tmp_path / "places", "-o", tmp_path / "out", "--json", home=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["methods"]) == {"zero_shot", "prism"}


@pytest.mark.slow
def test_workers_of_ray_embed_the_same_rows(folder, recordings, tmp_path):
    pytest.importorskip("ray", reason="starts a private cluster")
    stores = {}
    for engine in ("local", "ray"):
        stores[engine] = tmp_path / engine
        words = ("embed", recordings, "--encoder", folder, "-o", stores[engine])
        done = run(*words, "--engine", engine, home=tmp_path, before="")
        assert done.returncode == 0, done.stderr
    rows = [open_table(place).read(0, 4) for place in stores.values()]
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


def test_a_hub_id_names_the_way_without_pytorch(tmp_path):
    done = run(
        "classify", tmp_path, "--labels", "rain", "--encoder", "laion/clap-htsat-fused",
        home=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--encoder clap" in done.stderr
    assert "onnx:HUB_ID" in done.stderr

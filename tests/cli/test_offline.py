"""No command uses a network that it was not asked to use: only loopback can be reached here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.cli import COMMANDS
from prism_audio.encoders.assets import ASSETS, find
from prism_audio.errors import AssetError
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import AdapterStore
from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS, write
from tests.helpers.tiny_bench import backgrounds, dataset

GUARD = Path(__file__).parents[1] / "helpers" / "no_network"
# Several commands in one process, which saves the start of others.
RUN = """
import json, sys
from prism_audio.cli import main
for call in json.loads(sys.argv[1]):
    sys.argv = ["prism", *call]
    try:
        main()
    except SystemExit as end:
        print(json.dumps([call[0], end.code or 0]), file=sys.stderr)
"""
BANDS = ("--encoder", "bands")
# With tests of their own below: they need packages of an extra.
ELSEWHERE = {"bench", "demo", "export-encoder", "serve"}


class Guarded:
    """Processes that can reach loopback alone; ``refused`` lists what they tried."""

    def __init__(self, prism: Prism, folder: Path) -> None:
        self._notes = folder / "refused.txt"
        self.environment = {
            **prism.environment,
            "PYTHONPATH": os.pathsep.join([str(GUARD), prism.environment["PYTHONPATH"]]),
            "REFUSED_ADDRESSES": str(self._notes),
        }

    @property
    def refused(self) -> str:
        return self._notes.read_text() if self._notes.exists() else ""

    def run(self, *calls: tuple[object, ...]) -> dict[str, int]:
        """Exit codes by command."""
        text = json.dumps([[str(word) for word in call] for call in calls])
        done = subprocess.run(
            [sys.executable, "-c", RUN, text],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        ends = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('["')]
        assert len(ends) == len(calls), done.stderr
        assert not any(code for _, code in ends), done.stderr
        return dict(ends)


@pytest.fixture
def guarded(prism: Prism, tmp_path: Path) -> Guarded:
    return Guarded(prism, tmp_path)


def test_the_guard_refuses_and_notes(guarded: Guarded) -> None:
    code = "import urllib.request; urllib.request.urlopen('http://198.51.100.7/', timeout=5)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=guarded.environment, capture_output=True, text=True
    )
    assert done.returncode
    assert "198.51.100.7" in guarded.refused


def test_commands(guarded: Guarded, sounds: Path, site: Path, tmp_path: Path) -> None:
    clip = sorted(sounds.rglob("*.wav"))[0]
    for path in sounds.rglob("*.wav"):
        samples = soundfile.read(path)[0]
        hum = 0.2 * np.sin(0.8 * np.arange(len(samples)))
        write(tmp_path / "noisy" / path.relative_to(sounds), samples + hum)
    store, rows, todo = tmp_path / "store", tmp_path / "rows.csv", tmp_path / "todo"
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"file,label\n{clip.name},tone 2\n")
    versions = AdapterStore(tmp_path / "versions")
    versions.add("yard", versions.history("yard"), Adapter.load(site), "calibration")
    done = guarded.run(
        ("classify", sounds, "-l", LABELS, *BANDS, "-o", rows),
        ("calibrate", sounds, "-l", LABELS, *BANDS, "-o", tmp_path / "a.safetensors"),
        ("inspect", site),
        ("embed", sounds, "-o", store, *BANDS),
        ("verify", site, store),
        ("listen", clip, "-a", site, *BANDS),
        ("evaluate", rows, "--truth", rows),
        ("pick", store, "-a", site, "-n", 3, "-o", todo),
        ("check", store, "-a", site, "--labels", sheet),
        ("history", versions.folder),
        ("search", store, clip),
        ("export", site, "-o", tmp_path / "head.json"),
        ("diagnose", tmp_path / "noisy", "--clean", sounds, *BANDS),
        ("mix", clip, clip, "--snr", 0, "-o", tmp_path / "mix.wav"),
        ("assets", "list"),
    )
    assert not guarded.refused
    assert done.keys() | ELSEWHERE == set(COMMANDS), "add new commands to this test"


def test_the_service_listens_on_loopback_alone(prism: Prism, guarded: Guarded, site: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra serve")
    from tests.helpers.processes import Served

    with Served(prism, "--adapter", site, **guarded.environment) as served:
        with urllib.request.urlopen(f"{served.url}/v1/sites", timeout=30) as answer:
            assert answer.status == 200
        served.stop()
    assert not guarded.refused


def test_embedding_by_the_built_in_encoder_with_its_files_in_the_cache(guarded, sounds) -> None:
    try:
        cached = all(find(asset) for asset in ASSETS)
    except AssetError:
        cached = False
    if not cached:
        pytest.skip("the model files are not on this machine; 'prism assets fetch'")
    guarded.run(("classify", sounds, "-l", "dog bark, siren"), ("assets", "verify"))
    assert not guarded.refused


def test_the_bench(guarded: Guarded, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra bench")
    pytest.importorskip("pyarrow", reason="needs the extra bench")
    data, places = dataset(tmp_path / "data"), backgrounds(tmp_path / "places")
    experiment = tmp_path / "tones.toml"
    experiment.write_text(
        'dataset = "esc50"\nencoder = "bands"\nprompts = "plain"\n'
        'methods = ["zero_shot", "prism"]\nprotocols = ["transductive"]\n[noise]\nsnrs = [0]\n'
    )
    given = ("--data", data, "--backgrounds", places, "--cache", tmp_path / "cache")
    given += ("--workers", 1, "--quick")
    guarded.run(("bench", experiment, *given, "-o", tmp_path / "out"))
    assert not guarded.refused


@pytest.mark.slow
def test_an_encoder_is_exported(guarded: Guarded, tmp_path: Path) -> None:
    for package in ("torch", "transformers", "onnx"):
        pytest.importorskip(package, reason="needs the extras clap and onnx")
    from tests.helpers.clap_tiny import tiny_model, write_hub_folder, write_tokenizer

    words = write_tokenizer(tmp_path / "words")
    model = write_hub_folder(tmp_path / "model", tiny_model(False, side=128), words)
    guarded.run(("export-encoder", model, "-o", tmp_path / "onnx", "-l", "rain, siren"))
    assert not guarded.refused


@pytest.mark.slow
def test_the_demonstration(guarded: Guarded, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra bench")
    guarded.run(("demo", "--output", tmp_path / "demo"))
    assert not guarded.refused

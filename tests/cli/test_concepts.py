"""The commands with the embedded encoder: the models themselves, not a stand-in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio import Adapter
from prism_audio.encoders.concepts.encoder import ConceptsEncoder
from prism_audio.errors import AssetError
from tests.cli.conftest import Prism

RATE = 16_000
LABELS = "white noise, sine wave, clicking"


@pytest.fixture(scope="module", autouse=True)
def _models() -> None:
    try:
        ConceptsEncoder().embed_text(["a sound"])
    except AssetError as error:
        pytest.skip(f"the model files cannot be had here: {error}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six clips each of hiss, tones and clicks."""
    folder = tmp_path_factory.mktemp("real") / "room"
    folder.mkdir()
    rng = np.random.default_rng(0)
    times = np.arange(2 * RATE) / RATE
    for number in range(6):
        hiss = 0.1 * rng.standard_normal(len(times))
        tone = 0.3 * np.sin(2 * np.pi * rng.uniform(300, 1500) * times)
        clicks = np.zeros(len(times))
        clicks[:: int(rng.uniform(1500, 4000))] = 0.9
        for name, sound in (("noise", hiss), ("tone", tone), ("clicks", clicks)):
            soundfile.write(folder / f"{name}-{number}.wav", sound + 0.001 * hiss, RATE)
    return folder


def test_from_recordings_to_a_stream(prism: Prism, folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site.safetensors"
    first = prism("classify", folder, "-l", LABELS, "--save-adapter", site, "--json", "--timeline")
    assert first.returncode == 0, first.stderr
    rows = json.loads(first.stdout)["rows"]
    assert {Path(row["file"]).name for row in rows} == {path.name for path in folder.iterdir()}
    adapter = Adapter.load(site)
    assert (adapter.encoder, adapter.dim) == ("concepts", 521)
    assert adapter.encoder_fingerprint == ConceptsEncoder().fingerprint

    again = prism.process("classify", folder, "-a", site, "--json", "--timeline")
    assert json.loads(again.stdout)["rows"] == rows

    file = folder / "noise-3.wav"
    heard = prism("listen", file, "-a", site, "--window", 0.975, "--json", "--every")
    told = [json.loads(line) for line in heard.stdout.splitlines()]
    mine = [row for row in rows if row["file"] == str(file)]
    windows = [line for line in told if line["type"] == "window"]
    assert [line["label"] for line in windows] == [row["label"] for row in mine]
    assert told[-1]["type"] == "summary"
    assert told[-1]["times_real_time"] > 0


def test_clips_are_told_apart(prism: Prism, folder: Path) -> None:
    done = prism("classify", folder, "-l", LABELS, "--json")
    rows = json.loads(done.stdout)["rows"]
    names = {"noise": "white noise", "tone": "sine wave", "clicks": "clicking"}
    right = [names[Path(row["file"]).name.partition("-")[0]] == row["label"] for row in rows]
    assert np.mean(right) > 0.6  # by chance a third
    assert "verdict" in json.loads(done.stdout)["summary"]

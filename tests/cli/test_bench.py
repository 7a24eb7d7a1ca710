from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from prism_audio.cli.bench import command
from prism_audio.encoders import registry
from prism_audio.errors import PrismError
from tests.helpers.tiny_bench import BandEncoder, backgrounds, dataset

pytest.importorskip("matplotlib")

TOML = """
dataset = "esc50"
prompts = "plain"
methods = ["zero_shot", "sinkhorn", { name = "prism_paper", K = 2 }, "prism"]
protocols = ["transductive", "half", "few"]
studies = ["spectrum"]
[noise]
snrs = [-6, 0, 6]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    dataset(tmp_path / "data")
    backgrounds(tmp_path / "places")
    (tmp_path / "tones.toml").write_text(TOML)
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> BandEncoder:
    found = BandEncoder()
    monkeypatch.setattr(registry, "load_encoder", lambda name: found)
    return found


def run(here: Path, *arguments: str):
    app = typer.Typer()
    app.command()(command)
    given = [str(here / "tones.toml"), "--data", str(here / "data"), "-o", str(here / "out")]
    given += ["--backgrounds", str(here / "places")] if "--bare" not in arguments else []
    rest = [argument for argument in arguments if argument != "--bare"]
    return CliRunner().invoke(app, [*given, "--workers", "1", *rest])


def test_from_sound_to_report_and_again(here: Path, encoder: BandEncoder) -> None:
    done = run(here, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["conditions_embedded"] == 1 + 2 * 4
    assert set(told["methods"]) == {"zero_shot", "sinkhorn", "prism_paper", "prism"}
    assert all(Path(path).is_file() for path in told["report"])
    assert (here / "out" / "report.html").is_file()
    heard = encoder.calls
    before = (here / "out" / "README.md").read_bytes()
    again = run(here)
    assert again.exit_code == 0
    assert encoder.calls == heard
    assert (here / "out" / "README.md").read_bytes() == before
    assert "zero_shot" in again.stdout


def test_quick_is_smaller(here: Path, encoder: BandEncoder) -> None:
    done = run(here, "--quick", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["conditions_embedded"] == 1 + 2 * 3
    text = (here / "out" / "README.md").read_text()
    assert "20 in 4 classes" in text
    assert "--quick" in text


def test_what_is_wrong_is_said_before_the_work(here: Path, encoder: BandEncoder) -> None:
    bare = run(here, "--bare")
    assert isinstance(bare.exception, PrismError)
    assert "--backgrounds" in str(bare.exception)
    (here / "tones.toml").write_text(TOML.replace('"sinkhorn"', '"magic"'))
    wrong = run(here)
    assert isinstance(wrong.exception, PrismError)
    assert "magic" in str(wrong.exception)
    assert encoder.calls == 0
    assert not (here / "out").exists()

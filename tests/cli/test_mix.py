from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer
from typer.testing import CliRunner

from prism_audio.cli.mix import command
from prism_audio.errors import PrismError
from tests.helpers.sounds import noise, tone

RATE = 8000


@pytest.fixture
def app() -> typer.Typer:
    found = typer.Typer()
    found.command()(command)
    return found


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, samples in (
        ("sounds/a/bell.wav", tone(1.0, RATE, 700)),
        ("sounds/b/bell.wav", tone(1.5, RATE, 900)),
        ("places/street.wav", noise(4.0, RATE, 1)),
        ("places/hall.wav", noise(4.0, RATE, 2)),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, samples, RATE)
    return tmp_path


def run(app: typer.Typer, *arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_one_sound_into_one_place(app: typer.Typer, here: Path) -> None:
    out = here / "new" / "mix.wav"
    sound, place = here / "sounds/a/bell.wav", here / "places/street.wav"
    done = run(app, sound, place, "--snr", "-6", "-o", out)
    assert done.exit_code == 0
    story = json.loads(out.with_suffix(".json").read_text())
    mixed, rate = soundfile.read(out)
    clean, _ = soundfile.read(sound)
    assert (rate, len(mixed)) == (RATE, len(clean))
    gain = 10 ** (story["foreground"]["gain_db"] / 20)
    rest = mixed - gain * clean
    snr = 10 * np.log10(np.mean((gain * clean) ** 2) / np.mean(rest**2))
    assert snr == pytest.approx(-6, abs=0.01)
    assert story["snr_db_asked"] == -6


def test_the_same_seed_gives_the_same_bytes(app: typer.Typer, here: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        done = run(
            app, here / "sounds", here / "places", "--snr=-6:15", "--seed", seed, "-o", here / name
        )
        assert done.exit_code == 0
    files = sorted(path.relative_to(here / "one") for path in (here / "one").rglob("*.*"))
    assert len(files) == 4
    for file in files:
        assert (here / "one" / file).read_bytes() == (here / "two" / file).read_bytes()
    changed = [(here / "one" / f).read_bytes() != (here / "other" / f).read_bytes() for f in files]
    assert all(changed)


def test_a_range_draws_for_every_sound(app: typer.Typer, here: Path) -> None:
    done = run(
        app, here / "sounds", here / "places", "--snr=-6:15", "-o", here / "out", "--json"
    )  # fmt: skip
    told = json.loads(done.stdout)
    drawn = [story["snr_db_asked"] for story in told]
    assert len(set(drawn)) == 2
    assert all(-6 <= snr <= 15 for snr in drawn)
    assert [Path(story["file"]).is_file() for story in told] == [True, True]


def test_a_scene_at_another_rate(app: typer.Typer, here: Path) -> None:
    out = here / "scene.flac"
    done = run(
        app, here / "sounds/a/bell.wav", here / "places/hall.wav",
        "--kind", "scene", "--rate", 16000, "-o", out,
    )  # fmt: skip
    assert done.exit_code == 0
    info = soundfile.info(out)
    assert (info.samplerate, info.frames) == (16000, 160000)
    assert json.loads(out.with_suffix(".json").read_text())["level"] == "lufs"


def test_what_cannot_be_mixed_is_listed_and_the_rest_is_done(app: typer.Typer, here: Path) -> None:
    (here / "sounds/a/broken.wav").write_text("no sound")
    soundfile.write(here / "sounds/a/silent.wav", np.zeros(RATE), RATE)
    done = run(app, here / "sounds", here / "places", "-o", here / "out")
    assert done.exit_code == 1
    assert "2 failed" in done.stderr
    assert "broken.wav" in done.stderr
    assert "silent" in done.stderr
    assert len(list((here / "out").rglob("*.wav"))) == 2


@pytest.mark.parametrize("snr", ["loud", "1:2:3", "9:-9", ""])
def test_a_wrong_snr(app: typer.Typer, here: Path, snr: str) -> None:
    done = run(
        app, here / "sounds/a/bell.wav", here / "places/hall.wav", f"--snr={snr}", "-o", "x.wav"
    )
    assert done.exit_code == 2


def test_a_wrong_name(app: typer.Typer, here: Path) -> None:
    sound, place = here / "sounds/a/bell.wav", here / "places/hall.wav"
    assert run(app, sound, place, "-o", here / "mix.mp3").exit_code == 2
    assert run(app, here / "none.wav", place, "-o", here / "mix.wav").exit_code == 2


def test_nothing_is_overwritten_that_is_mixed(app: typer.Typer, here: Path) -> None:
    sound, place = here / "sounds/a/bell.wav", here / "places/hall.wav"
    before = sound.read_bytes()
    done = run(app, sound, place, "-o", sound)
    assert isinstance(done.exception, PrismError)
    assert sound.read_bytes() == before
    (here / "sounds/a/bell.flac").write_bytes(before)
    done = run(app, here / "sounds", place, "-o", here / "out")
    assert isinstance(done.exception, PrismError)
    assert "would both become" in str(done.exception)

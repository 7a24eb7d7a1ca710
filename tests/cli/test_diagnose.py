from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Prism, left_over
from tests.helpers.bands import LABELS, tone, write

BANDS = ("--encoder", "bands")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Clean and noisy versions of 20 clips; one more on either side has no counterpart."""
    root = tmp_path_factory.mktemp("pair")
    clean, noisy = root / "clean", root / "noisy"
    hum = 0.2 * np.sin(2 * np.pi * 1100 * np.arange(8000) / 8000)
    for number in range(20):
        sound = tone((2, 7, 12)[number % 3], 1.0, number)
        write(clean / "a" / f"{number:02d}.wav", sound)
        write(noisy / "a" / f"{number:02d}.flac", sound + hum)
    write(clean / "only.wav", tone(2, 1.0, 0))
    write(noisy / "other.wav", tone(2, 1.0, 0))
    return clean, noisy


def test_pairs_of_recordings(prism: Prism, pair: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    clean, noisy = pair
    out = tmp_path / "shift.png"
    done = prism("diagnose", noisy, "--clean", clean, *BANDS, "-o", out)
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "20 pairs of clips, 16 dimensions" in done.stdout
    assert "left out: 2 clips" in done.stderr
    assert out.read_bytes().startswith(b"\x89PNG")
    told = json.loads(prism("diagnose", noisy, "--clean", clean, *BANDS, "--json").stdout)
    assert told["pairs"] == 20
    assert told["rank_90"] <= 4  # one hum moves all clips in much the same way
    assert told["energy"] == sorted(told["energy"])
    assert left_over(tmp_path) == ["shift.png"]


def test_pairs_of_arrays(prism: Prism, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((60, 12))
    np.save(tmp_path / "clean.npy", clean)
    np.save(tmp_path / "noisy.npy", clean + rng.standard_normal(12))
    done = prism("diagnose", tmp_path / "noisy.npy", "--clean", tmp_path / "clean.npy", "--json")
    assert json.loads(done.stdout)["pairs"] == 60


def test_without_pairs(prism: Prism, sounds: Path) -> None:
    done = prism("diagnose", sounds, "-l", LABELS, *BANDS)
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "cannot be known from noisy clips alone" in done.stdout
    told = json.loads(prism("diagnose", sounds, "-l", LABELS, *BANDS, "--json").stdout)
    assert (told["rows"], told["classes"]) == (24, 3)
    assert 0 < told["confidence"] <= 1


def test_bad_files_are_listed(prism: Prism, pair: tuple[Path, Path], tmp_path: Path) -> None:
    import shutil

    noisy = tmp_path / "noisy"
    shutil.copytree(pair[1], noisy)
    (noisy / "a" / "00.flac").write_text("no sound")
    done = prism("diagnose", noisy, "--clean", pair[0], *BANDS, "--json")
    assert (done.returncode, json.loads(done.stdout)["pairs"]) == (1, 19)
    assert "00.flac" in done.stderr


def test_wrong_usage(
    refused: Callable[..., str], pair: tuple[Path, Path], sounds: Path, tmp_path: Path
) -> None:
    clean, noisy = pair
    np.save(tmp_path / "narrow.npy", np.eye(3))
    np.save(tmp_path / "wide.npy", np.ones((3, 9)))
    (tmp_path / "empty").mkdir()
    for words, arguments in {
        "one of them is needed": (noisy, *BANDS),
        "only --clean versions": (noisy, "-l", LABELS, *BANDS, "-o", tmp_path / "x.png"),
        ".png, .svg, .pdf": (noisy, "--clean", clean, *BANDS, "-o", tmp_path / "x.xyz"),
        "name the two versions of a clip alike": (sounds, "--clean", clean, *BANDS),
        "no such file": (noisy, "--clean", tmp_path / "absent", *BANDS),
        "no recording below": (noisy, "--clean", tmp_path / "empty", *BANDS),
        "there is no shift": (clean, "--clean", clean, *BANDS),
        "wanted 3": (tmp_path / "wide.npy", "--clean", tmp_path / "narrow.npy"),
    }.items():
        assert words in refused("diagnose", *arguments), words

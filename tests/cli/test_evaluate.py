"""``prism evaluate`` against worked examples, and events from sound to scores."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS, RATE, tone

ROWS = [  # file, zero-shot, label, truth
    ("a/one.wav", "dog", "dog", "dog"),
    ("a/two.wav", "cat", "dog", "dog"),
    ("a/three.wav", "cat", "cat", "cat"),
    ("a/four.wav", "dog", "dog", "cat"),
    ("a/five.wav", "dog", "dog", ""),
]


@pytest.fixture
def clips(tmp_path: Path) -> tuple[Path, Path]:
    """A table of answers and one of true labels."""
    results, truth = tmp_path / "out.csv", tmp_path / "truth.csv"
    with results.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "zero_shot", "label"])
        writer.writerows(row[:3] for row in ROWS)
    with truth.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["filename", "category"])
        writer.writerows((Path(row[0]).with_suffix(".ogg").name, row[3]) for row in ROWS)
    return results, truth


def test_clips(prism: Prism, clips: tuple[Path, Path]) -> None:
    results, truth = clips
    done = prism("evaluate", results, "--truth", truth, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["clips"] == 4
    assert answer["accuracy"]["zero_shot"]["value"] == 0.5
    assert answer["accuracy"]["label"]["value"] == 0.75
    assert answer["accuracy"]["difference"]["value"] == 0.25
    assert answer["accuracy"]["label"]["low"] <= 0.75 <= answer["accuracy"]["label"]["high"]
    assert answer["labels"]["dog"]["precision"] == pytest.approx(2 / 3, abs=1e-4)
    assert answer["macro_f1"]["label"]["value"] == pytest.approx((0.8 + 2 / 3) / 2)
    shown = prism("evaluate", results, "--truth", truth).stdout
    assert "75.0 [" in shown
    assert "4 of 5 clips have a true label" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_picture_of_confusions(prism: Prism, clips: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "confusions.svg"
    assert prism("evaluate", *clips[:1], "--truth", clips[1], "--picture", out).returncode == 0
    assert "<svg" in out.read_text()


def test_truth_from_folders_of_classes(
    prism: Prism, clips: tuple[Path, Path], tmp_path: Path
) -> None:
    for file, _, _, label in ROWS:
        if label:
            folder = tmp_path / "classes" / label
            folder.mkdir(parents=True, exist_ok=True)
            soundfile.write(folder / Path(file).name, np.zeros(100), RATE)
    done = prism("evaluate", clips[0], "--truth", tmp_path / "classes", "--json")
    assert json.loads(done.stdout)["accuracy"]["label"]["value"] == 0.75


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("truth.csv", "recording,sound\none,dog\n", "wanted a column"),
        ("truth.csv", "file,label\nother,dog\n", "no recording of the results"),
        ("truth.json", "{", "cannot be read as a table"),
        ("truth.docx", "x", ".csv, .json or .parquet"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused(
    prism: Prism, clips: tuple[Path, Path], tmp_path: Path, name: str, text: str, says: str
) -> None:
    truth = tmp_path / f"bad_{name}"
    truth.write_text(text)
    done = prism("evaluate", clips[0], "--truth", truth)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[float, float, str]]]:
    """Ten minutes of hum with five tones in it, and when each of them sounds."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("long")
    samples = (tone(14, 600.0, seed=9) + 0.01 * rng.standard_normal(600 * RATE)).astype(np.float32)
    truth = []
    for number, start in enumerate((40, 150, 260, 390, 520)):
        band = (2, 7, 12)[number % 3]
        sound = tone(band, 5.0, seed=number, noise=0.0)
        samples[start * RATE : start * RATE + len(sound)] += sound
        truth.append((float(start), start + 5.0, f"tone {band}"))
    soundfile.write(folder / "station.wav", samples, RATE)
    return folder / "station.wav", truth


@pytest.mark.parametrize("form", ["audacity", "raven", "sed"])
def test_events_from_sound_to_scores(
    prism: Prism, hour: tuple[Path, list[tuple[float, float, str]]], tmp_path: Path, form: str
) -> None:
    file, events = hour
    out = tmp_path / "events"
    out.mkdir()
    done = prism(
        "classify", file, "-l", LABELS, "--encoder", "bands", "--timeline", "--format", form,
        "-o", out, "--no-adapt",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    truth = tmp_path / "station.txt"
    truth.write_text("".join(f"{start}\t{end}\t{label}\n" for start, end, label in events))
    scores = json.loads(prism("evaluate", out, "--truth", truth, "--json").stdout)
    assert scores["segments"]["all"]["f1"] > 0.7, scores
    assert scores["events"]["all"]["recall"] >= 0.6, scores
    shown = prism("evaluate", out, "--truth", truth).stdout
    assert "5 true events" in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--format", "audacity"), "--timeline"),
        (("--format", "word", "--timeline", "-o", "x"), "there is no format 'word'"),
    ],
)
def test_formats_that_cannot_be_written_are_refused(
    prism: Prism, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = prism("classify", tmp_path, "-l", "dog,cat", "--encoder", "bands", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_background_words_on_the_command_line(
    prism: Prism, hour: tuple[Path, list[tuple[float, float, str]]]
) -> None:
    file, _ = hour
    done = prism(
        "classify", file, "-l", "tone 2, tone 7", "--background", "tone 12, tone 14", "--encoder",
        "bands", "--timeline", "--no-adapt", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {event["label"] for event in document["events"]} == {"tone 2", "tone 7"}
    assert document["summary"]["after"]["background"] > 1000
    refused = prism("classify", file, "-a", "x.safetensors", "--background", "wind")
    assert refused.returncode == 2
    assert "--background goes with --labels" in refused.stderr

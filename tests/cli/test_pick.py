"""``prism pick`` and ``prism check``: from recordings to a sheet, from its labels to an accuracy."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from prism_audio.model.adapter import Adapter
from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS, RATE, recordings

# Recordings are named by the band of their tone.
TRUE = {"02": "tone 2", "07": "tone 7", "12": "tone 12"}


@pytest.fixture(scope="module")
def place(prism: Prism, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store of a humming place in which zero-shot often errs, and its adapter."""
    folder = tmp_path_factory.mktemp("place")
    recordings(folder / "sounds", each=20, hum=1.6)
    for call in (
        ("embed", folder / "sounds", "-o", folder / "store", "--encoder", "bands"),
        ("calibrate", folder / "store", "-l", LABELS, "-o", folder / "site.safetensors"),
    ):
        done = prism(*call)
        assert done.returncode == 0, done.stderr
    return folder / "store", folder / "site.safetensors"


def sheet(folder: Path) -> list[dict[str, str]]:
    with (folder / "sheet.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def fill_in(folder: Path, rows: list[dict[str, str]], count: int | None = None) -> None:
    """Write what is heard into the first lines of a sheet."""
    for row in rows[:count]:
        row["label"] = TRUE[Path(row["file"]).name[:2]]
    with (folder / "sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def pick(prism: Prism, place: tuple[Path, Path], out: Path, *more: object) -> dict[str, Any]:
    done = prism("pick", place[0], "-a", place[1], "-o", out, "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(prism: Prism, place: tuple[Path, Path], labels: Path, *more: object) -> dict[str, Any]:
    done = prism("check", "-a", place[1], "--labels", labels, "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_pick_label_check(prism: Prism, place: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "todo"
    assert pick(prism, place, out, "-n", 25) == {
        "sheet": str(out / "sheet.csv"), "clips": 25, "of": 60, "listened": 0,
    }  # fmt: skip
    rows = sheet(out)
    assert list(rows[0]) == ["file", "start", "end", "label", "suggestion", "probability", "clip"]
    assert all(0 < float(row["probability"]) <= 1 for row in rows)
    for row in rows:
        samples, rate = soundfile.read(out / row["clip"])
        original, _ = soundfile.read(place[0].parent / "sounds" / row["file"])
        assert rate == RATE
        np.testing.assert_allclose(samples, original, atol=1e-4)
    fill_in(out, rows)
    answer = check(prism, place, out / "sheet.csv", "--precision", 0.9)
    assert (answer["clips"], answer["of"]) == (25, 60)
    done = prism("classify", place[0], "-a", place[1], "--json")
    truth = [
        (TRUE[Path(row["file"]).name[:2]], row["zero_shot"], row["label"])
        for row in json.loads(done.stdout)["rows"]
    ]
    for kind, wanted in (
        ("zero_shot", np.mean([true == zero_shot for true, zero_shot, _ in truth])),
        ("adapted", np.mean([true == label for true, _, label in truth])),
    ):
        interval = answer["accuracy"][kind]
        assert interval["low"] <= wanted <= interval["high"], kind
        assert interval["high"] - interval["low"] < 0.45
    assert {row["label"] for row in answer["labels"]} <= set(TRUE.values())
    assert sum(row["listened"] for row in answer["labels"]) <= 25
    shown = prism("check", "-a", place[1], "--labels", out / "sheet.csv", "--precision", 0.9).stdout
    assert "25 labels, 60 clips at this place" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_labels_go_into_a_calibration(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    out, better = tmp_path / "todo", tmp_path / "better.safetensors"
    pick(prism, place, out, "-n", 30)
    fill_in(out, sheet(out))
    call = ("calibrate", place[0], "-l", LABELS, "-o", better, "--json")
    done = prism(*call, "--labelled", out / "sheet.csv")
    assert done.returncode == 0, done.stderr
    assert Adapter.load(better).facts.numbers["labels"] == 30
    before, after = (
        check(prism, (place[0], site), out / "sheet.csv")["accuracy"]["adapted"]["value"]
        for site in (place[1], better)
    )
    assert after >= before
    told = prism("check", "-a", better, "--labels", out / "sheet.csv").stderr
    assert ("was calibrated with 30 labels" in told) == bool(Adapter.load(better).facts.labels)


def test_labels_are_kept_and_a_larger_pick_goes_on(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "todo"
    pick(prism, place, out, "-n", 8)
    first = sheet(out)
    fill_in(out, first, 5)
    sound = (out / "clips" / "0003.wav").stat().st_mtime_ns
    assert pick(prism, place, out, "-n", 12)["listened"] == 5
    rows = sheet(out)
    assert [row["file"] for row in rows[:8]] == [row["file"] for row in first]
    assert [bool(row["label"]) for row in rows] == [True] * 5 + [False] * 7
    assert (out / "clips" / "0003.wav").stat().st_mtime_ns == sound
    assert pick(prism, place, out, "-n", 12)["listened"] == 5
    assert check(prism, place, out / "sheet.csv")["clips"] == 5
    refused = prism("pick", place[0], "-a", place[1], "-o", out, "-n", 3, "--seed", 9)
    assert refused.returncode == 2
    assert "holds labels of clips that are not in this pick" in refused.stderr
    assert sheet(out) == rows


def test_another_pick_replaces_the_clips_of_one_without_labels(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "todo"
    pick(prism, place, out, "-n", 6)
    pick(prism, place, out, "-n", 4, "--seed", 1)
    assert len(list((out / "clips").glob("*.wav"))) == 4
    for row in sheet(out):
        samples, _ = soundfile.read(out / row["clip"])
        original, _ = soundfile.read(place[0].parent / "sounds" / row["file"])
        np.testing.assert_allclose(samples, original, atol=1e-4)


def test_labels_from_audacity_and_label_studio(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "todo"
    pick(prism, place, out, "-n", 6)
    track = out / "clips" / "0002.txt"
    start, end, label = track.read_text().strip().split("\t")
    assert (float(start), float(end)) == pytest.approx((0, 1.2))
    assert label == sheet(out)[1]["suggestion"] + "?"
    track.write_text(f"{start}\t{end}\ttone 7\n")
    assert pick(prism, place, out, "-n", 6)["listened"] == 1
    assert sheet(out)[1]["label"] == "tone 7"

    tasks = json.loads((out / "label_studio.json").read_text())
    assert tasks[1]["annotations"][0]["result"][0]["value"]["choices"] == ["tone 7"]
    for task in tasks:
        band = task["data"]["file"][:2]
        task["annotations"] = [{"result": [{"value": {"choices": [TRUE[band]]}}]}]
    tasks[0]["annotations"][0]["was_cancelled"] = True
    export = tmp_path / "export.json"
    export.write_text(json.dumps(tasks))
    assert check(prism, place, export, place[0])["clips"] == 5
    assert '<Choice value="tone 12" hotkey="3"/>' in (out / "label_studio.xml").read_text()


def test_a_folder_is_embedded_into_the_pick(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    out, sounds = tmp_path / "todo", tmp_path / "sounds"
    shutil.copytree(place[0].parent / "sounds", sounds)
    (sounds / "broken.wav").write_bytes(b"RIFF")
    done = prism("pick", sounds, "-a", place[1], "-o", out, "-n", 10)
    assert done.returncode == 1
    assert "broken.wav" in done.stderr
    rows = sheet(out)
    fill_in(out, rows)
    (sounds / rows[0]["file"]).unlink()
    assert check(prism, place, out / "sheet.csv")["clips"] == 10


def test_windows_get_sound_around_them(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    store, out = tmp_path / "windows", tmp_path / "todo"
    call = ("embed", place[0].parent / "sounds", "-o", store, "--encoder", "bands", "--windows")
    assert prism(*call).returncode == 0
    pick(prism, (store, place[1]), out, "-n", 10)
    for row in sheet(out):
        samples, _ = soundfile.read(out / row["clip"])
        first, last = max(0.0, float(row["start"]) - 1), min(1.2, float(row["end"]) + 1)
        assert len(samples) == pytest.approx((last - first) * RATE, abs=2)
    rows = sheet(out)
    fill_in(out, rows)
    assert check(prism, (store, place[1]), out / "sheet.csv")["clips"] == 10


def test_other_labels_and_sheets_without_probabilities(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path
) -> None:
    plain = tmp_path / "plain.csv"
    plain.write_text("file,label\nstreet/02-00.wav,tone 2\n07-01.wav,other\n12-03.wav,\n")
    done = prism("check", place[0], "-a", place[1], "--labels", plain, "--json")
    assert done.returncode == 0, done.stderr
    assert "simple random sample" in done.stderr
    assert json.loads(done.stdout)["clips"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,label\n02-00.wav,\n", "has no label yet"),
        ("file,label\n99.wav,tone 2\n", "does not hold"),
        ("file,label\n02-00.wav,tone 3\n", "not one of the labels"),
        ("file,label\n02-00.wav,tone 2\n02-00.wav,tone 2\n", "two lines for one clip"),
        ("file,label,probability\n02-00.wav,tone 2,1.5\n", "no probability"),
    ],
)
def test_sheets_that_cannot_be_used(
    prism: Prism, place: tuple[Path, Path], tmp_path: Path, text: str, message: str
) -> None:
    labels = tmp_path / "sheet.csv"
    labels.write_text(text)
    done = prism("check", place[0], "-a", place[1], "--labels", labels)
    assert done.returncode == 2
    assert message in done.stderr
    assert "no pick.json" in prism("check", "-a", place[1], "--labels", labels).stderr


def test_pick_label_calibrate(prism: Prism, place: tuple[Path, Path], tmp_path: Path) -> None:
    """The sheet of a pick goes into the next calibration, which says so where it is checked."""
    out, better = tmp_path / "todo", tmp_path / "better.safetensors"
    pick(prism, place, out, "-n", 25)
    fill_in(out, sheet(out))
    labels = out / "sheet.csv"
    done = prism("calibrate", place[0], "-l", LABELS, "--labelled", labels, "-o", better, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["numbers"]["labels"] == 25
    right = []
    for adapter in (place[1], better):
        rows = json.loads(prism("classify", place[0], "-a", adapter, "--json").stdout)["rows"]
        right.append(np.mean([row["label"] == TRUE[Path(row["file"]).name[:2]] for row in rows]))
    assert right[1] >= right[0]
    checked = prism("check", "-a", better, "--labels", labels)
    assert checked.returncode == 0
    assert "was calibrated with 25 labels" in " ".join(checked.stderr.split())

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from prism_audio import Adapter
from prism_audio.encoders.prompts import PromptSet, prototypes, read_labels
from tests.cli.conftest import Prism, left_over
from tests.helpers.bands import LABELS, BandEncoder, tone, write

COLUMNS = ["file", "start", "end", "zero_shot", "zero_shot_score"]
COLUMNS += ["label", "score", "runner_up", "margin", "probability", "time", "best", "conviction"]
BANDS = ("--encoder", "bands")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def true_label(file: str) -> str:
    return f"tone {int(Path(file).name[:2])}"


def test_folder_to_table_and_file(prism: Prism, sounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = prism("classify", sounds, "-l", LABELS, *BANDS, "-o", out)
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "... 4 more" in done.stdout
    assert "0 of 24 labels changed" in done.stdout
    verdict, _, reasons = done.stdout.partition("verdict: ")[2].partition("\n")
    assert verdict in ("adapted", "shrunk", "zero-shot")
    assert reasons.startswith("  ")
    assert f"wrote {out}" in done.stderr
    rows = rows_of(out)
    assert list(rows[0]) == COLUMNS
    assert [row["file"] for row in rows] == sorted(str(path) for path in sounds.iterdir())
    assert [row["label"] for row in rows] == [true_label(row["file"]) for row in rows]
    assert {(row["start"], row["end"]) for row in rows} == {("0.0", "1.2")}
    for row in rows:
        assert float(row["margin"]) > 0
        assert row["runner_up"] != row["label"]
    assert left_over(tmp_path) == ["out.csv"]


def test_every_kind_of_file_holds_the_same(prism: Prism, sounds: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    outs = [tmp_path / f"out{suffix}" for suffix in (".csv", ".json", ".parquet")]
    told = [
        json.loads(prism("classify", sounds, "-l", LABELS, *BANDS, "-o", out, "--json").stdout)
        for out in outs
    ]
    assert told[0] == told[1] == told[2]
    rows = told[0]["rows"]
    assert json.loads(outs[1].read_text()) == rows
    assert parquet.read_table(outs[2]).to_pylist() == rows
    told_as_text = [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in rows
    ]
    assert told_as_text == rows_of(outs[0])
    assert told[0]["summary"]["before"] == {"tone 2": 8, "tone 7": 8, "tone 12": 8}
    assert told[0]["failures"] == []


def test_saved_adapter_labels_without_calibration(
    prism: Prism, sounds: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "site.safetensors"
    first = prism(
        "classify", sounds, "-l", LABELS, *BANDS, "--json", "--save-adapter", saved, "--place", "é"
    )
    before = saved.read_bytes()
    second = prism("classify", sounds, "-a", saved, "--json")  # the adapter names its encoder
    assert json.loads(first.stdout) == json.loads(second.stdout)
    assert saved.read_bytes() == before
    alone = prism("classify", sounds / "07-03.wav", "-a", saved, "--json")
    (row,) = json.loads(alone.stdout)["rows"]
    assert row == next(r for r in json.loads(first.stdout)["rows"] if r["file"] == row["file"])
    assert Adapter.load(saved).facts.place == "é"


def test_no_adapt_is_plain_zero_shot(prism: Prism, sounds: Path) -> None:
    done = json.loads(
        prism("classify", sounds, "-l", LABELS, *BANDS, "--no-adapt", "--json").stdout
    )
    for row in done["rows"]:
        assert (row["label"], row["score"]) == (row["zero_shot"], row["zero_shot_score"])
    assert done["summary"]["verdict"] == "zero-shot"
    encoder = BandEncoder()
    T = prototypes(encoder, read_labels(LABELS), PromptSet.load("sentences"))
    from prism_audio.encoders import embed_audio

    scores = embed_audio(encoder, [row["file"] for row in done["rows"]]) @ T.T
    np.testing.assert_allclose(
        [row["score"] for row in done["rows"]], scores.max(axis=1), atol=2e-6
    )


def test_timeline_gives_windows_and_events(prism: Prism, site: Path, tmp_path: Path) -> None:
    parts = [tone(band, 2.0, band) for band in (2, 12, 7)]
    file = write(tmp_path / "three.wav", np.concatenate(parts))
    out = tmp_path / "out.csv"
    done = prism("classify", file, "-a", site, "--timeline", "-o", out, "--json")
    assert done.returncode == 0
    assert "calibrate --windows" in done.stderr
    windows, events = rows_of(out), rows_of(tmp_path / "out.events.csv")
    assert len(windows) == 23  # 6 s, window 0.5 s, hop 0.25 s
    assert [event["label"] for event in events] == ["tone 2", "tone 12", "tone 7"]
    for event, begin, end in zip(events, (0, 2, 4), (2, 4, 6), strict=True):
        assert float(event["start"]) == pytest.approx(begin, abs=0.25)
        assert float(event["end"]) == pytest.approx(end, abs=0.25)
    assert sum(int(event["windows"]) for event in events) == len(windows)
    told = json.loads(done.stdout)
    assert [event["label"] for event in told["events"]] == ["tone 2", "tone 12", "tone 7"]
    shown = prism("classify", file, "-a", site, "--timeline", "--confirm", 30)
    assert shown.stdout.startswith("0 events in 0.1 minutes, 1 recording\n")
    shown = prism("classify", file, "-a", site, "--timeline")
    assert "3 events in 0.1 minutes, 1 recording" in shown.stdout
    assert shown.stdout.count("tone 12") == 2  # among the events, and in the sums


def test_threshold_and_top(prism: Prism, site: Path, tmp_path: Path) -> None:
    write(tmp_path / "in" / "02.wav", tone(2, 1.0, 0))
    write(tmp_path / "in" / "hiss.wav", np.random.default_rng(0).standard_normal(8000) * 0.05)
    out = tmp_path / "out.csv"
    done = prism(
        "classify", tmp_path / "in", "-a", site, "--threshold", 0.92, "--top", 2, "-o", out
    )
    assert done.returncode == 0
    assert "1 clip unknown" in done.stdout
    clear, unsure = rows_of(out)
    assert (clear["label"], unsure["label"]) == ("tone 2", "unknown")
    assert float(unsure["score"]) < 0.92 <= float(clear["score"])
    assert list(clear)[-4:] == ["top_1", "top_1_score", "top_2", "top_2_score"]
    assert (clear["top_1"], clear["top_2"]) == ("tone 2", clear["runner_up"])
    assert unsure["top_1"].startswith("tone")


def test_bad_file_among_good_ones_is_listed(prism: Prism, site: Path, tmp_path: Path) -> None:
    write(tmp_path / "in" / "02.wav", tone(2, 1.0, 0))
    (tmp_path / "in" / "bad.wav").write_text("no sound")
    done = prism("classify", tmp_path / "in", "-a", site, "-o", tmp_path / "out.csv")
    assert done.returncode == 1
    assert "bad.wav" in done.stderr
    assert [row["label"] for row in rows_of(tmp_path / "out.csv")] == ["tone 2"]
    (tmp_path / "in" / "02.wav").unlink()
    done = prism("classify", tmp_path / "in", "-a", site, "-o", tmp_path / "none.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "none.csv").exists()


def test_wrong_usage(refused: Callable[..., str], sounds: Path, site: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.csv").mkdir()
    bands = ("-l", LABELS, *BANDS)
    for words, arguments in {
        "no such file or folder": (tmp_path / "absent", *bands),
        "no recording below": (tmp_path / "empty", *bands),
        "either --labels": (sounds, *BANDS),
        "not both": (sounds, *bands, "-a", site),
        "no label": (sounds, "-l", " , ", *BANDS),
        "no encoder": (sounds, "-l", LABELS, "--encoder", "nonsense"),
        "no prompts": (sounds, *bands, "--prompts", "nonsense"),
        "preset": (sounds, *bands, "--preset", "nonsense"),
        ".csv, .json, .parquet": (sounds, *bands, "-o", tmp_path / "out.xls"),
        "there is no folder": (sounds, *bands, "-o", tmp_path / "absent" / "out.csv"),
        "folder or a device": (sounds, *bands, "-o", tmp_path / "folder.csv"),
        "must end in": (sounds, *bands, "--save-adapter", "/dev/full"),
        "calibrates nothing": (sounds, "-a", site, "--save-adapter", tmp_path / "a.safetensors"),
        "no PRISM adapter": (sounds, "-a", sounds / "02-00.wav"),
        "Invalid value": (sounds, *bands, "--threshold", 7),
        "'unknown'": (sounds, "-l", "tone 2, unknown", *BANDS, "--threshold", 0.1),
    }.items():
        assert words in refused("classify", *arguments)
    assert left_over(tmp_path) == ["empty", "folder.csv"]


def test_adapter_of_another_encoder_is_refused(
    refused: Callable[..., str], sounds: Path, site: Path
) -> None:
    message = refused("classify", sounds, "-a", site, "--encoder", "bands-other")
    for part in (site.name, "bands-finger", "prism calibrate", "--encoder"):
        assert part in message


@pytest.mark.parametrize(
    "labels",
    [
        ["tone 2"],
        [f"tone {number}" for number in range(500)],
        ["tone 2", 'a "quoted" word, and a comma', "犬の鳴き声", "пёс [red]", "l'été \\ %s {} ;"],
    ],
    ids=["one", "500", "odd"],
)
def test_any_labels(prism: Prism, sounds: Path, tmp_path: Path, labels: list[str]) -> None:
    file = tmp_path / "labels.txt"
    file.write_text("\n".join(labels), encoding="utf-8")
    out, saved = tmp_path / "out.csv", tmp_path / "site.safetensors"
    done = prism("classify", sounds, "-l", file, *BANDS, "-o", out, "--save-adapter", saved)
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    rows = rows_of(out)
    assert {row["label"] for row in rows} <= set(labels)
    assert rows[0]["label"] == "tone 2"
    assert list(Adapter.load(saved).labels) == labels
    if len(labels) == 1:
        assert {(row["runner_up"], row["margin"]) for row in rows} == {("", "")}


def test_full_disk_leaves_nothing_half_written(prism: Prism, sounds: Path, tmp_path: Path) -> None:
    for option, name in (("-o", "out.csv"), ("--save-adapter", "site.safetensors")):
        (tmp_path / name).write_text("old")
        done = prism.process(
            "classify", sounds, "-l", LABELS, *BANDS, option, tmp_path / name, largest=300
        )
        assert done.returncode == 2
        assert f"cannot write {tmp_path / name}" in done.stderr
        assert "verdict" in done.stdout  # what was found is at least shown
        assert (tmp_path / name).read_text() == "old"
    assert left_over(tmp_path) == ["out.csv", "site.safetensors"]


def test_a_full_disk_for_one_output_does_not_lose_the_other(
    prism: Prism, sounds: Path, tmp_path: Path
) -> None:
    adapter, rows = tmp_path / "site.safetensors", tmp_path / "rows.csv"
    call = ("classify", sounds, "-l", LABELS, *BANDS, "--preset", "paper", "--place", "x" * 9000)
    assert prism(*call, "-o", rows, "--save-adapter", adapter).returncode == 0
    most = rows.stat().st_size + 500
    assert adapter.stat().st_size > most
    rows.unlink()
    done = prism.process(*call, "-o", rows, "--save-adapter", adapter, largest=most)
    assert done.returncode == 2
    assert f"cannot write {adapter}" in done.stderr
    assert len(rows.read_text().splitlines()) == 25


def test_names_that_look_like_formulas(
    prism: Prism, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("=1+1.wav", "@sum.wav", "+2.wav"):
        write(tmp_path / name, tone(2, 1.0, 0))
    monkeypatch.chdir(tmp_path)
    done = prism("classify", *sorted(os.listdir()), "-a", site, *BANDS, "-o", "rows.csv")
    assert done.returncode == 0, done.stderr
    cells = [line.split(",")[0] for line in Path("rows.csv").read_text().splitlines()[1:]]
    assert cells == ["./+2.wav", "./=1+1.wav", "./@sum.wav"]
    assert all(Path(cell).is_file() for cell in cells)


def test_read_only_folder_is_noticed_before_the_work(
    refused: Callable[..., str], sounds: Path, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):  # root may write anywhere but into the kernel's own folders
        locked = Path("/proc")
    message = refused("classify", sounds, "-l", LABELS, *BANDS, "-o", locked / "out.csv")
    assert "cannot write" in message


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_run_writes_nothing(
    prism: Prism, sounds: Path, tmp_path: Path, number: int, code: int
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number_of_call, call in enumerate(
        (
            ("classify", "-o", work / "out.csv", "--save-adapter", work / "a.safetensors"),
            ("calibrate", "-o", work / "site.safetensors"),
            ("diagnose",),
        )
    ):
        words = ("-l", LABELS, *BANDS)
        mark = tmp_path / str(number_of_call)
        done = prism.interrupted(mark, number, call[0], sounds, *words, *call[1:])
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("stopped")
    assert left_over(work) == []


def test_store_and_arrays_give_the_labels_of_the_recordings(
    prism: Prism, sounds: Path, site: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    assert prism("embed", sounds, "-o", store, *BANDS).returncode == 0
    from prism_audio.store.store import Store

    np.save(tmp_path / "array.npy", Store.open(store).embeddings())
    labels = [
        [row["label"] for row in json.loads(done.stdout)["rows"]]
        for done in (
            prism("classify", sounds, "-a", site, "--json"),
            prism("classify", store, "-a", site, "--json"),
            prism("classify", tmp_path / "array.npy", "-a", site, "--json"),
            prism("classify", store, "-l", LABELS, *BANDS, "--json"),
        )
    ]
    assert labels[0] == labels[1] == labels[2] == labels[3]
    array = json.loads(prism("classify", tmp_path / "array.npy", "-a", site, "--json").stdout)
    assert array["rows"][3]["file"] == "array.npy[3]"
    assert array["rows"][3]["start"] is None
    assert "--windows" in prism("classify", store, "-a", site, "--timeline").stderr


def test_days_of_sound(prism: Prism, tmp_path: Path) -> None:
    """Recordings of two days, named by their time: times in rows, a calendar and its counts."""
    pytest.importorskip("matplotlib")
    for day, hour, band in ((29, 6, 2), (29, 6, 12), (31, 6, 2), (31, 22, 7)):
        for minute in range(5):
            name = f"SITE_202401{day}_{hour:02d}{minute:02d}00.wav"
            write(tmp_path / "in" / name, tone(band, 1.2, 60 * hour + minute + band))
    out, calendar = tmp_path / "out.csv", tmp_path / "calendar.svg"
    done = prism(
        "classify", tmp_path / "in", "-l", LABELS, *BANDS, "--no-adapt", "-o", out,
        "--calendar", calendar,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = rows_of(out)
    assert rows[0]["time"] == "2024-01-29T06:00:00.000"
    assert "2024-01-30" in calendar.read_text()  # a day without a recording is shown as one
    counts = {
        (row["day"], row["hour"], row["label"]): int(row["count"])
        for row in rows_of(calendar.with_suffix(".csv"))
    }
    assert sum(counts.values()) == sum(row["label"] != "unknown" for row in rows)
    assert counts["2024-01-31", "22", "tone 7"] == 5
    write(tmp_path / "nameless" / "x.wav", tone(2, 1.2, 0))
    done = prism("classify", tmp_path / "nameless", "-l", LABELS, *BANDS, "--calendar", calendar)
    assert done.returncode == 2
    assert "tells when it began" in done.stderr


def test_another_place_is_told(prism: Prism, site: Path, sounds: Path, tmp_path: Path) -> None:
    assert "do not sound like" not in prism("classify", sounds, "-a", site).stderr
    rng = np.random.default_rng(0)
    for number in range(24):
        write(tmp_path / "hiss" / f"{number}.wav", np.diff(rng.standard_normal(9000)) / 8)
    assert "do not sound like" in prism("classify", tmp_path / "hiss", "-a", site).stderr


def test_a_doubtful_list_of_labels_is_told(prism: Prism, sounds: Path) -> None:
    done = prism("classify", sounds, "-l", "tone 2; tone 7", *BANDS, "--no-adapt")
    assert done.returncode == 0
    assert "put commas between labels" in done.stderr
    assert "only label" in done.stderr

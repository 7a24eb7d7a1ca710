"""``prism listen`` with the options of a station, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import soundfile

from tests.cli.conftest import Prism
from tests.helpers.bands import RATE, write
from tests.helpers.running_station import MANNER, scene
from tests.helpers.station import rows


def lines(text: str, kind: str) -> list[dict]:
    return [line for line in map(json.loads, text.splitlines()) if line["type"] == kind]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("recordings")
    names = ("SITE_20240131_220000.wav", "SITE_20240131_120000.wav")
    return [write(folder / name, scene(9, 9 * place)) for place, name in enumerate(names)]


def test_several_sources_are_heard_as_each_alone(
    prism: Prism, recordings: list[Path], tmp_path: Path
) -> None:
    late, early = recordings
    call = ("--json", "--db", tmp_path / "events.db", "--clips", tmp_path / "clips", *MANNER)
    done = prism("listen", f"late={late}", f"early={early}", *call)
    assert done.returncode == 0, done.stderr
    for name, path in (("late", late), ("early", early)):
        alone = lines(prism("listen", f"{name}={path}", "--json", *MANNER).stdout, "end")
        together = [line for line in lines(done.stdout, "end") if line["source"] == name]
        keys = ("id", "label", "start", "end", "score", "confidence", "started")
        assert [[line[key] for key in keys] for line in together] == [
            [line[key] for key in keys] for line in alone
        ]
        assert len(alone) >= 5
    recorded = rows(tmp_path / "events.db")
    assert {row[0] for row in recorded} == {line["id"] for line in lines(done.stdout, "end")}
    # A clip holds two seconds before and after its event.
    whole = soundfile.read(late)[0]
    line = next(line for line in lines(done.stdout, "end") if line["source"] == "late")
    clip, rate = soundfile.read(line["clip"])
    first = round((line["start"] - 2) * RATE)
    assert (rate, len(clip)) == (RATE, round((line["end"] + 2) * RATE) - first)
    assert abs(clip - whole[first : first + len(clip)]).max() < 2**-13
    # Once more: everything is known.
    again = prism("listen", f"late={late}", f"early={early}", *call)
    assert lines(again.stdout, "begin") + lines(again.stdout, "end") == []
    assert rows(tmp_path / "events.db") == recorded


def test_quiet_hours_and_cooldown_keep_the_record(
    prism: Prism, recordings: list[Path], tmp_path: Path
) -> None:
    late, early = recordings
    for source, options in ((late, ("--quiet", "21:00-23:00")), (early, ("--cooldown", 3600))):
        db = tmp_path / f"{source.stem}.db"
        done = prism("listen", source, "--db", db, *options, *MANNER)
        labels = [row[1] for row in rows(db)]
        announced = rows(db, "SELECT announced FROM events ORDER BY started")
        told = [line for line in done.stdout.splitlines() if "(confidence " in line]
        assert len(labels) >= 5
        assert len(told) == sum(flag for (flag,) in announced)
        assert len(told) == (0 if source == late else len(set(labels)))
        assert f"{len(labels)} events" in done.stdout  # the summary counts them all


def test_wrong_usage(refused: Callable[..., str], recordings: list[Path], tmp_path: Path) -> None:
    file = recordings[0]
    for words, arguments in {
        "--adapters FOLDER": (file, "--recalibrate", "nightly"),
        "give --clips": (file, "--keep", "20/label"),
        "no number of clips": (file, "--clips", tmp_path, "--keep", "lots"),
        "no span of hours": (file, "--quiet", "at night"),
        "neither flac nor wav": (file, "--clip-format", "mp3"),
        "not the address of a broker": (file, "--mqtt", "broker"),
        "for several sources": (*recordings, "--warmup", 9, "--save-adapter", "x.safetensors"),
        "two sources are called": (file, file),
        "cannot use the database": (file, "--db", tmp_path / "absent" / "events.db"),
    }.items():
        assert words in refused("listen", *arguments, *MANNER), words

"""A station that is killed again and again: its database is whole, and holds everything once."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Prism
from tests.helpers.bands import write
from tests.helpers.running_station import RunningStation, scene
from tests.helpers.station import rows, wait_for

EVENTS = "SELECT label, started, ended FROM events ORDER BY started"
FINISHED = "SELECT name FROM recordings ORDER BY name"


class Listening:
    """Runs of a station with one database, in a folder of their own."""

    def __init__(self, prism: Prism, folder: Path, *call: object) -> None:
        folder.mkdir()
        self._prism, self.folder, self._database = prism, folder, folder / "events.db"
        self._call = (*call, "--db", self._database, "--clips", folder / "clips")

    def rows(self, query: str = EVENTS) -> list:
        made = self._database.exists() and rows(self._database, "PRAGMA user_version") == [(1,)]
        return rows(self._database, query) if made else []

    def kill_when_it_has_heard_more(self, after: float) -> None:
        before = len(self.rows())
        station = RunningStation(self._prism, self.folder, *self._call, BANDS_PAUSE="0.004")
        wait_for(lambda: len(self.rows()) > before or station.process.poll() is not None)
        with suppress(subprocess.TimeoutExpired):
            station.process.wait(after)
        station.kill()

    def run(self, recordings: int) -> RunningStation:
        """Hear to the end of so many recordings."""
        station = RunningStation(self._prism, self.folder, *self._call)
        try:
            wait_for(lambda: len(self.rows(FINISHED)) == recordings, 120)
            station.stop()
        finally:
            station.kill()
        return station


def check_clips(heard: Listening) -> None:
    """Every event has its clip, and there is no other: nothing was written twice or by halves."""
    recorded = {Path(clip).name for (clip,) in heard.rows("SELECT clip FROM events")}
    assert {path.name for path in heard.folder.glob("clips/*/*")} == recorded


@pytest.mark.parametrize(
    ("events", "kills"), [(9, 3), pytest.param(40, 20, marks=pytest.mark.slow)]
)
def test_killed_at_any_moment_of_a_recording(
    prism: Prism, tmp_path: Path, events: int, kills: int
) -> None:
    source = write(tmp_path / "SITE_20240131_060000.wav", scene(events))
    whole, torn = (Listening(prism, tmp_path / name, source) for name in ("whole", "torn"))
    whole.run(1)
    rng = np.random.default_rng(0)
    for _ in range(kills):
        torn.kill_when_it_has_heard_more(float(rng.uniform(0.0, 0.3)))
    station = torn.run(1)
    assert torn.rows() == whole.rows()
    assert len(whole.rows()) >= events - 3
    check_clips(torn)
    told = [line["id"] for line in station.lines("end")]
    assert len(told) == len(set(told))


@pytest.mark.slow
def test_killed_while_a_folder_is_heard(prism: Prism, tmp_path: Path) -> None:
    """Recordings that were heard are left out; what of the others was recorded is not again."""
    for number in range(8):
        path = write(tmp_path / f"field/SITE_20240131_06{number:02d}00.wav", scene(5, 5 * number))
        os.utime(path, (1e9 + number, 1e9 + number))
    heard = Listening(prism, tmp_path / "run", tmp_path / "field")
    rng = np.random.default_rng(0)
    for _ in range(6):
        heard.kill_when_it_has_heard_more(float(rng.uniform(0.0, 0.5)))
    heard.run(8)
    for label in {row[0] for row in heard.rows()}:
        spans = [row[1:] for row in heard.rows() if row[0] == label]
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))
    check_clips(heard)

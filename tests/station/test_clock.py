from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from prism_audio.station.clock import LiveClock, recording_clock
from tests.helpers.bands import write


class Wall:
    """A clock on the wall that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def seconds(clock: LiveClock, position: float) -> float:
    return clock.at(position).timestamp()


def hear(clock: LiveClock, wall: Wall, until: float, start: float, pace: float = 1.0) -> None:
    """Sound that comes in pieces of 0.1 s, every ``0.1 / pace`` seconds."""
    for position in np.arange(start, until, 0.1) + 0.1:
        wall.now += 0.1 / pace
        clock.take(float(position))


def test_sound_as_it_is_made_goes_by_the_wall() -> None:
    wall = Wall()
    clock = LiveClock(wall)
    hear(clock, wall, 60.0, 0.0)
    assert seconds(clock, 60.0) == pytest.approx(wall.now, abs=0.01)
    assert seconds(clock, 1.5) == pytest.approx(1_000_001.5, abs=0.01)


def test_a_gap_moves_what_comes_after_it_and_nothing_before() -> None:
    wall = Wall()
    clock = LiveClock(wall)
    hear(clock, wall, 10.0, 0.0)
    before = seconds(clock, 9.0)
    wall.now += 300.0
    hear(clock, wall, 20.0, 10.0)
    assert seconds(clock, 9.0) == before == pytest.approx(1_000_009.0, abs=0.1)
    assert seconds(clock, 15.0) == pytest.approx(1_000_315.0, abs=0.1)


@pytest.mark.parametrize("error", [-1e-4, 1e-4])
def test_a_sound_card_that_runs_wrong_does_not_lead_away(error: float) -> None:
    wall = Wall()
    clock = LiveClock(wall)
    for position in range(1, 5 * 86_400, 10):  # five days, wrong by nine seconds a day
        wall.now = 1_000_000.0 + position * (1 + error)
        clock.take(float(position))
    assert seconds(clock, float(position)) == pytest.approx(wall.now, abs=0.1)


def test_sound_faster_than_real_time_never_runs_backwards() -> None:
    wall = Wall()
    clock = LiveClock(wall)
    moments = []
    for start in range(0, 600, 60):
        hear(clock, wall, start + 60.0, float(start), pace=50.0)
        moments.append(seconds(clock, start + 60.0))
    assert np.diff(moments) == pytest.approx(60.0, abs=0.2)


def test_a_recording_begins_by_its_name_or_ends_with_its_last_change(tmp_path: Path) -> None:
    named = write(tmp_path / "SITE_20240131T063000Z.wav", np.zeros(8000))
    assert recording_clock(named).at(2.5) == datetime(2024, 1, 31, 6, 30, 2, 500_000, tzinfo=UTC)
    plain = write(tmp_path / "street.wav", np.zeros(16_000))
    os.utime(plain, (1_000_000.0, 1_000_000.0))
    assert recording_clock(plain).at(0.5).timestamp() == 1_000_000.0 - 2.0 + 0.5

"""The time of day of rows and events, and how often labels were heard by hour."""

from __future__ import annotations

import numpy as np

from prism_audio import Adapter
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import classify
from prism_audio.labelling.wall_clock import hours_of, time_of


def test_times_run_over_midnight_and_keep_their_zone() -> None:
    assert time_of("X_20240131_235959.wav", 2.25) == "2024-02-01T00:00:01.250"
    assert time_of("X-20240131T235959+0100.flac", 0) == "2024-01-31T23:59:59.000+01:00"
    assert time_of("dog.wav", 3) is None


def test_rows_tell_when_they_were_heard() -> None:
    start = np.array([0.0, 90.0, np.nan])
    files = ["S_20240131_063000.wav", "S_20240131_063000.wav", "dog.wav"]
    batch = Batch(np.eye(3, dtype=np.float32), files, start, start + 1, "window")
    rows = classify(batch, Adapter.zero_shot(np.eye(3), ("a", "b", "c")))
    assert [row.time for row in rows] == [
        "2024-01-31T06:30:00.000",
        "2024-01-31T06:31:30.000",
        None,
    ]


def test_hours_count_labels_by_day_and_hour() -> None:
    heard = [
        ("2024-01-31T06:30:00.000", "dog"),
        ("2024-01-31T06:59:59.999", "dog"),
        ("2024-01-31T07:00:00.000", "dog"),
        ("2024-02-01T06:00:00.000+01:00", "bell"),
        (None, "dog"),
    ]
    assert hours_of(heard) == {
        ("2024-01-31", 6, "dog"): 2,
        ("2024-01-31", 7, "dog"): 1,
        ("2024-02-01", 6, "bell"): 1,
    }

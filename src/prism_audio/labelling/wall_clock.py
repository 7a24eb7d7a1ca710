"""The time of day of what was heard: the start of a recording, and the seconds within it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache

from prism_audio.audio.timestamps import recording_start, start_in_name
from prism_audio.errors import AudioError


def time_of(file: str, seconds: float) -> str | None:
    """When a second of a recording was heard, in ISO 8601; None where the recording does not tell.

    >>> time_of("SITE_20240131_063000.wav", 90.5)
    '2024-01-31T06:31:30.500'
    """
    start = _start(file)
    if start is None:
        return None
    return (start + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


@lru_cache(maxsize=16_384)
def _start(file: str) -> datetime | None:
    try:
        return recording_start(file)
    except AudioError:  # rows of a store whose recordings are elsewhere
        return start_in_name(file)


def hours_of(heard: Iterable[tuple[str | None, str]]) -> dict[tuple[str, int, str], int]:
    """How often each label was heard, by day, hour and label, from times and labels.

    Days and hours are those of the recorder's own clock. What has no time is left out.
    """
    counts: dict[tuple[str, int, str], int] = {}
    for time, label in heard:
        if time is not None:
            moment = datetime.fromisoformat(time)
            key = (moment.date().isoformat(), moment.hour, label)
            counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))

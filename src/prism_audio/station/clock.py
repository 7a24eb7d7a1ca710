"""When a sound was heard: from its place in a recording or a stream to the time of day."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from prism_audio.audio.decode import probe
from prism_audio.audio.timestamps import recording_start

# Seconds that a stream must fall behind before its clock is put forward: something is missing.
JUMP = 2.0
# Seconds a second that the clock of a stream may be pulled: sound cards run wrong by less.
PULL = 1e-3


class Clock(Protocol):
    """From seconds of sound to time of day."""

    def take(self, position: float) -> None:
        """So many seconds of sound have come by now."""

    def at(self, position: float) -> datetime:
        """When the sound at ``position`` was heard, in UTC."""
        ...


class RecordingClock:
    """The clock of a recording: it has begun at ``started``."""

    def __init__(self, started: datetime) -> None:
        self._started = started.astimezone(UTC)

    def take(self, position: float) -> None: ...

    def at(self, position: float) -> datetime:
        return self._started + timedelta(seconds=position)


class LiveClock:
    """The clock of sound that comes as it is made.

    It follows the clock of the machine, but never runs backwards: it is put forward where sound is
    missing, and else pulled by less than anybody hears. Sound that comes faster than it was made (a
    file in a pipe) runs ahead of the machine.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._position = 0.0
        # From which second on, what must be added to get the time of day; the last few gaps.
        self._offsets: deque[tuple[float, float]] = deque(maxlen=64)

    def take(self, position: float) -> None:
        now, step = self._now(), position - self._position
        if not self._offsets:
            self._offsets.append((0.0, now - position))
        since, offset = self._offsets[-1]
        lead = offset + position - now
        if lead < -JUMP:
            self._offsets.append((self._position, now - position))
        else:
            pull = min(max(lead, -PULL * step), PULL * step)
            self._offsets[-1] = (since, offset - pull)
        self._position = position

    def at(self, position: float) -> datetime:
        offset = next(
            (offset for since, offset in reversed(self._offsets) if position >= since), 0.0
        )
        return datetime.fromtimestamp(offset + position, UTC)


def recording_clock(path: Path) -> RecordingClock:
    """The clock of a file: by the time in its name or comment, else by its last change and length.

    A time without a zone is that of this machine.
    """
    if (started := recording_start(path)) is None:
        length = probe(path).duration
        started = datetime.fromtimestamp(path.stat().st_mtime, UTC) - timedelta(seconds=length)
    return RecordingClock(started)

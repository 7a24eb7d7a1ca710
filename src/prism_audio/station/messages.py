"""What a station's sources tell its sinks: events, states, windows, new adapters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from prism_audio.audio.watchdog import StreamState
from prism_audio.io.types import Float32
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.listener import Switched, WindowAnswer
from prism_audio.model.adapter import Adapter


@dataclass
class StationEvent:
    """An event of a source: when it has begun, and once more when it is over.

    Attributes
    ----------
    source, label : str
        Where, and what.
    started, ended : datetime
        By the clock, in UTC; of an event that has just begun, ``ended`` is now.
    over : bool
        Whether it has ended.
    start, end : float
        The same in seconds of the recording, or of the sound heard since the start.
    score, windows, confidence : float, int, float or None
        As the listener gives them.
    adapter : Adapter
        What labelled it.
    recording : str, optional
        The file it was heard in.
    scores : tuple of (str, float)
        Mean cosines of the best classes over the event.
    sound, rate : (n,) float32 or None, int
        The event with what came before and after.
    announced : bool
        False in quiet hours and within the cooldown of its label.
    clip : path, optional
        The file of its sound, once there is one.
    """

    source: str
    label: str
    started: datetime
    ended: datetime
    over: bool
    start: float
    end: float
    score: float
    windows: int
    adapter: Adapter = field(repr=False)
    confidence: float | None = None
    recording: str | None = None
    scores: tuple[tuple[str, float], ...] = ()
    sound: Float32 | None = field(default=None, repr=False, compare=False)
    rate: int = 0
    announced: bool = True
    clip: Path | None = None

    @property
    def id(self) -> str:
        """A name that is the same whenever the same sound is heard: by source, start and label."""
        start = iso(self.started)
        digest = hashlib.sha256(f"{self.source}\n{start}\n{self.label}".encode()).hexdigest()
        return f"{time_in_id(self.started)}_{digest[:12]}"


@dataclass(frozen=True)
class SourceState:
    """A source has come to life, fallen silent, or is lost."""

    source: str
    state: StreamState
    message: str
    at: datetime


@dataclass(frozen=True)
class RecordingEnd:
    """A recording has been heard to its end, or could not be read (``failure``).

    ``changed`` is its time of change in nanoseconds, which tells it from another of the same name.
    """

    source: str
    recording: str
    changed: int
    failure: str | None = None


@dataclass(frozen=True)
class Notice:
    """What the listener of a source says beside events; ``seconds`` of sound since its start."""

    source: str
    at: datetime
    seconds: float
    notice: WindowAnswer | Switched | Drifted


@dataclass(frozen=True)
class Recalibrated:
    """A station has calibrated a source again, and uses the result or leaves it (``taken``)."""

    source: str
    at: datetime
    seconds: float
    adapter: Adapter
    version: int
    taken: bool


@dataclass(frozen=True)
class Trouble:
    """Something that people should know of a source, and that stops nothing."""

    source: str
    message: str


@dataclass(frozen=True)
class SourceEnd:
    """A source gives no more sound; ``error`` says why, where it did not simply end."""

    source: str
    error: Exception | None = None


@dataclass(frozen=True)
class Tick:
    """Nothing has happened for a while: a sink that failed may try again."""


Message = (
    StationEvent | SourceState | RecordingEnd | Notice | Recalibrated | Trouble | SourceEnd | Tick
)


def time_in_id(moment: datetime) -> str:
    """A moment as the id of an event begins, to the second."""
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def iso(moment: datetime) -> str:
    """A moment as text in UTC with milliseconds: earlier moments sort before later ones."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

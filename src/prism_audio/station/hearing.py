"""One source being heard: its sound in, messages for the sinks out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from prism_audio.audio.watchdog import StreamState
from prism_audio.errors import AudioError, PrismError
from prism_audio.io.types import Float32
from prism_audio.labelling.events import Event
from prism_audio.labelling.listener import Listener, WindowAnswer
from prism_audio.station import messages
from prism_audio.station.messages import Message, StationEvent
from prism_audio.station.recalibration import Recalibration
from prism_audio.station.sound_memory import SoundMemory
from prism_audio.station.sources import File, Recording, Source, Surroundings

# Seconds of an event that a clip holds at most, and how late its end may be known.
LONGEST_CLIP, LATEST = 60.0, 60.0
# Classes whose scores are recorded with an event.
TOP = 5


@dataclass(frozen=True)
class Rolls:
    """Seconds of sound that a clip holds before and after its event."""

    before: float = 2.0
    after: float = 2.0


class Hearing:
    """Hears one source by its listener; ``run`` is the body of its thread.

    Parameters
    ----------
    source : Source
        What is heard.
    listener : Listener
        What hears it.
    rolls : Rolls, optional
        Keep the sound of events, with so much around it.
    every : bool
        Tell of every window, not of events alone.
    recalibration : Recalibration, optional
        Calibrates the source again.

    Attributes
    ----------
    seconds : float
        Sound heard so far.
    """

    def __init__(
        self,
        source: Source,
        listener: Listener,
        *,
        rolls: Rolls | None = None,
        every: bool = False,
        recalibration: Recalibration | None = None,
    ) -> None:
        self.source, self.listener = source, listener
        self._rolls, self._every, self._recalibration = rolls, every, recalibration
        self._before = 0.0  # seconds of the recordings that are over
        self._send: Callable[[Message], None]
        self._recording: Recording
        self._memory: SoundMemory
        self._begun: dict[tuple[str, float], datetime] = {}
        self._waiting: deque[StationEvent] = deque()  # over, but the sound after them is to come

    @property
    def seconds(self) -> float:
        return self._before + self.listener.seconds

    def run(self, around: Surroundings, send: Callable[[Message], None]) -> None:
        """Hear the source to its end."""
        self._send = send
        error: Exception | None = None
        try:
            for recording in self.source.recordings(around):
                self._hear(recording, around)
        except Exception as stopped:  # told by the station's own thread
            error = stopped
        send(messages.SourceEnd(self.source.name, error))

    def _hear(self, recording: Recording, around: Surroundings) -> None:
        listener, name = self.listener, recording.name
        self._recording = recording
        rolls = self._rolls or Rolls(0.0, 0.0)
        span = rolls.before + LONGEST_CLIP + rolls.after + LATEST if self._rolls else 0.0
        self._memory = SoundMemory(around.rate, span)
        self._begun.clear()
        failure = None
        try:
            for notice in listener.hear(self._blocks(recording, around)):
                if name is not None and around.remembers and around.stop.is_set():
                    return  # it will be heard again, so nothing of its last event is told
                self._take(notice)
                self._release(self._memory.seconds)
        except AudioError as error:
            if isinstance(self.source, File) or name is None:
                raise
            failure = str(error)
            around.on_state(StreamState.lost, f"{self.source.name}: {failure}")
        finally:
            self._release(np.inf)
            self._before, listener.seconds = self.seconds, 0.0
        if name is not None:
            end = messages.RecordingEnd(self.source.name, name, recording.changed, failure)
            self._send(end)

    def _blocks(self, recording: Recording, around: Surroundings) -> Iterator[Float32]:
        for block in recording.blocks:
            self._memory.add(block)
            recording.clock.take(self._memory.seconds)
            yield block
            if around.stop.is_set():
                return

    def _take(self, notice: object) -> None:
        if isinstance(notice, WindowAnswer):
            if self._every:
                self._tell(notice)
        elif isinstance(notice, tuple) and isinstance(notice[-1], Event):
            self._take_event(notice[0], notice[-1])
        else:
            self._tell(notice)
        if self._recalibration is not None:
            self._recalibrate(self._recalibration, notice)

    def _recalibrate(self, recalibration: Recalibration, notice: object) -> None:
        now, name = self._recording.clock.at(self.listener.seconds), self.source.name
        try:
            outcome = recalibration.take(notice, self.listener, now)
        except (PrismError, OSError) as error:
            told = f"{name} could not be calibrated again: {error}; the adapter in use stays"
            self._send(messages.Trouble(name, told))
            return
        if outcome is not None:
            self._send(messages.Recalibrated(name, now, self.listener.seconds, *outcome))

    def _take_event(self, kind: str, event: Event) -> None:
        clock, key = self._recording.clock, (event.label, event.start)
        started = self._begun.pop(key, None) or clock.at(event.start)
        if kind == "begin":
            self._begun[key] = started
        over = kind == "end"
        told = StationEvent(
            self.source.name,
            event.label,
            started,
            max(clock.at(event.end), started),
            over,
            event.start,
            event.end,
            event.score,
            event.windows,
            self.listener.adapter,
            confidence=event.confidence,
            recording=self._recording.name,
            scores=tuple(sorted(event.scores.items(), key=lambda pair: -pair[1])[:TOP]),
            rate=self.listener.encoder.rate,
        )
        if over and self._rolls:
            self._waiting.append(told)
        else:
            self._send(told)

    def _release(self, heard: float) -> None:
        """Tell the events whose following sound is there; ``heard`` are seconds of sound."""
        if self._rolls is None:
            return
        before, after = self._rolls.before, self._rolls.after
        while self._waiting and self._waiting[0].end + after <= heard:
            event = self._waiting.popleft()
            start = max(event.start, event.end - LONGEST_CLIP)
            event.sound = self._memory.cut(start - before, event.end + after)
            self._send(event)

    def _tell(self, notice: object) -> None:
        seconds = self.listener.seconds
        now = self._recording.clock.at(seconds)
        self._send(messages.Notice(self.source.name, now, seconds, notice))  # type: ignore[arg-type]

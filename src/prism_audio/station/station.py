"""A station: every source on a thread of its own, their messages delivered to sinks in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from queue import Empty, Full, Queue
from typing import Protocol

from prism_audio.audio.watchdog import StreamState
from prism_audio.errors import AudioError
from prism_audio.station.announcing import Announcements
from prism_audio.station.hearing import Hearing
from prism_audio.station.messages import (
    Message,
    SourceEnd,
    SourceState,
    StationEvent,
    Tick,
    Trouble,
)
from prism_audio.station.sinks.base import Guard, Sink
from prism_audio.station.sources import Surroundings

# Messages that may wait for the sinks; sources wait when there are more.
WAITING = 256
# Seconds between two looks at sources and sinks when nothing happens, and those given to sources to
# end: a network stream may hang for ten.
TICK, FAREWELL = 10.0, 12.0


class Memory(Protocol):
    """What was heard in earlier runs."""

    def knows(self, event: StationEvent) -> bool:
        """Whether an event has been recorded."""
        ...

    def is_finished(self, source: str, recording: str, changed: int) -> bool:
        """Whether a recording has been heard to its end; ``changed`` is its time of change."""
        ...


class Forgetful:
    """A memory that holds nothing."""

    def knows(self, event: StationEvent) -> bool:
        return False

    def is_finished(self, source: str, recording: str, changed: int) -> bool:
        return False


class Station:
    """Hears sources and delivers what they tell.

    Parameters
    ----------
    hearings : sequence of Hearing
        The sources, each with its listener.
    sinks : sequence of Sink
        Where messages go, one after the other. What one adds to an event, the next ones see.
    announcements : Announcements
        Which events are announced.
    warn : callable
        Told what people should know: lost sources, failing sinks.
    memory : Memory, optional
        Knows what was heard before this run, so that nothing is told twice.
    patience : float
        Seconds of silence, or without sound, before that is said.
    """

    def __init__(
        self,
        hearings: Sequence[Hearing],
        sinks: Sequence[Sink],
        *,
        warn: Callable[[str], None],
        announcements: Announcements | None = None,
        memory: Memory | None = None,
        patience: float = 60.0,
    ) -> None:
        self.hearings = hearings
        self._sinks = [Guard(sink, warn) for sink in sinks]
        self._announcements = announcements or Announcements()
        self._warn, self._memory, self._patience = warn, memory or Forgetful(), patience
        self._queue: Queue[Message] = Queue(WAITING)
        self._stop = threading.Event()
        self._over = threading.Event()
        self._failures: list[tuple[str, str]] = []
        self._error: BaseException | None = None
        self._around = {
            hearing.source.name: Surroundings(
                hearing.listener.encoder.rate,
                self._stop,
                partial(self._tell_state, hearing.source.name),
                patience,
                partial(self._memory.is_finished, hearing.source.name),
                memory is not None,
            )
            for hearing in hearings
        }

    def run(self) -> list[tuple[str, str]]:
        """Hear until all sources have ended, or an exception (Ctrl-C) stops it in good order.

        Returns the sources that broke off, each with the reason.
        """
        for sink in self._sinks:
            sink.start()
        delivery = threading.Thread(target=self._deliver_all, name="delivery", daemon=True)
        try:
            delivery.start()
            for hearing in self.hearings:
                around = self._around[hearing.source.name]
                threading.Thread(
                    target=hearing.run, args=(around, self._queue.put), daemon=True
                ).start()
            # Signals come to this thread, so that none interrupts a sink.
            self._over.wait()
        finally:
            self._stop.set()
            if delivery.is_alive():
                delivery.join(FAREWELL)
            for sink in self._sinks:
                sink.close()
        if self._error is not None:
            raise self._error
        return self._failures

    def _deliver_all(self) -> None:
        alive, looked = len(self.hearings), time.monotonic()
        deadline = float("inf")
        try:
            while alive and time.monotonic() < deadline:
                with suppress(Empty):
                    message = self._queue.get(timeout=0.2)
                    alive -= isinstance(message, SourceEnd)
                    self._deliver(message)
                if self._stop.is_set():
                    deadline = min(deadline, time.monotonic() + FAREWELL - 2)
                if time.monotonic() - looked > min(TICK, self._patience / 2):
                    looked = time.monotonic()
                    for around in self._around.values():
                        for watchdog in list(around.watchdogs):
                            watchdog.look()
                    self._deliver(Tick())
        except BaseException as error:  # raised again by the main thread
            self._error = error
        finally:
            self._over.set()

    def _deliver(self, message: Message) -> None:
        if isinstance(message, SourceEnd) and message.error is not None:
            if not isinstance(message.error, AudioError):
                raise message.error
            self._failures.append((message.source, str(message.error)))
        if isinstance(message, SourceState) and message.state in (
            StreamState.lost,
            StreamState.silent,
        ):
            self._warn(message.message)
        if isinstance(message, Trouble):
            self._warn(message.message)
        quiet = False
        if isinstance(message, StationEvent):
            if self._memory.knows(message):
                return
            message.announced = self._announcements.decide(message)
            quiet = not message.announced
        for sink in self._sinks:
            if not (quiet and sink.announces):
                sink.write(message)

    def _tell_state(self, source: str, state: StreamState, message: str) -> None:
        told = SourceState(source, state, message, datetime.now(UTC))
        if not self._over.is_set():
            with suppress(Full):
                self._queue.put(told, timeout=1.0)

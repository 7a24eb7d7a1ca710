"""A watchdog for a source: says when nothing but silence comes, or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

import numpy as np

from prism_audio.io.types import Float32

# A sample below this (-80 dB) is silence, with the dither and hum of cheap converters.
PEAK = 1e-4


class StreamState(StrEnum):
    """What a stream is doing."""

    connecting = "connecting"
    live = "live"
    silent = "silent"  # connected, and nothing but silence comes
    lost = "lost"  # no connection, or nothing comes; tried again after a pause
    ended = "ended"  # a recording of known length has come to its end


StateCallback = Callable[[StreamState, str], None]


class Watchdog:
    """Watches one source and tells ``on_state`` every change of its state.

    After ``patience`` seconds of silence it counts as silent, after ``limit`` seconds without any sound
    ``look`` counts it as lost. ``look`` may be called from another thread than ``add``.
    """

    def __init__(
        self,
        name: str,
        on_state: StateCallback,
        patience: float,
        limit: float = float("inf"),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._on_state, self._now = name, on_state, now
        self._patience, self._limit = patience, limit
        self._state: StreamState | None = None
        self._silence = 0.0  # seconds since the last loud sample
        self._last = now()

    def add(self, block: Float32, rate: int) -> None:
        """The next block of sound has come."""
        self._last = self._now()
        loud = np.flatnonzero(np.abs(block) > PEAK)
        since = len(block) - loud[-1] if len(loud) else len(block)
        self._silence = since / rate + (0.0 if len(loud) else self._silence)
        if len(loud) or self._state in (None, StreamState.connecting):
            self.change(StreamState.live, f"{self._name} is live")
        elif self._silence >= self._patience:
            self.change(StreamState.silent, f"{self._name}: silence for {self._silence:.0f} s")

    def look(self) -> None:
        """Say so where nothing comes any more."""
        lost = self._state is StreamState.lost
        if not lost and self._now() - self._last > self._limit:
            self.lose(f"no sound has come for {self._limit:.0f} s")

    def lose(self, reason: str) -> None:
        """The source is lost; sound brings it back."""
        self._state = None  # a reason is told each time
        self.change(StreamState.lost, f"{self._name}: {reason}")

    def change(self, state: StreamState, message: str) -> None:
        """Take another state, and tell it."""
        if state is not self._state:
            self._state = state
            if state in (StreamState.connecting, StreamState.lost):
                self._silence = 0.0
            self._on_state(state, message)

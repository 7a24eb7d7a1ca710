"""A watchdog for a source: says when nothing but silence comes, or nothing at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from prism_audio.audio.silence import Silence
from prism_audio.io.types import Float32


class StreamState(StrEnum):
    """What a stream is doing."""

    connecting = "connecting"
    live = "live"
    silent = "silent"  # connected, and nothing but silence comes
    lost = "lost"  # no connection, or nothing comes; tried again after a pause
    ended = "ended"  # a recording of known length has come to its end


StateCallback = Callable[[StreamState, str], None]


class Watchdog:
    """Watches one source; ``look`` may be called from another thread than ``add``.

    Parameters
    ----------
    name : str
        For messages.
    on_state : callable
        Told every change of state.
    patience : float
        Seconds of silence after which the source counts as silent.
    limit : float
        Seconds without any sound after which ``look`` counts it as lost.
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
        self._silence, self._last = Silence(), now()

    def add(self, block: Float32, rate: int) -> None:
        """The next block of sound has come."""
        self._last = self._now()
        if self._silence.add(block, rate) or self._state in (None, StreamState.connecting):
            self.change(StreamState.live, f"{self._name} is live")
        elif self._silence.seconds >= self._patience:
            seconds = self._silence.seconds
            self.change(StreamState.silent, f"{self._name}: silence for {seconds:.0f} s")

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
                self._silence = Silence()
            self._on_state(state, message)

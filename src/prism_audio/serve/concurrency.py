"""Limit concurrent requests, and the time that one may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prism_audio.serve.errors import ApiError, busy, stopping


class ConcurrencyLimit:
    """A bounded number of slots; used from the event loop alone.

    Parameters
    ----------
    slots : int
        How many there are.
    what : str
        Who takes them, for the error message: "requests are being answered".

    Attributes
    ----------
    active : int
        Slots in use.
    stopping : bool
        Whether new requests are refused because the service is about to end.
    """

    def __init__(self, slots: int, what: str) -> None:
        self._slots, self._what = slots, what
        self.active = 0
        self.stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def full(self) -> bool:
        """Whether the next one would be refused."""
        return self.active >= self._slots

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot for the length of a block; raises an :class:`ApiError` (429 or 503)."""
        if self.stopping:
            raise stopping()
        if self.full:
            raise busy(f"{self.active} {self._what}, which is the most at a time")
        self.active += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.active -= 1
            if not self.active:
                self._idle.set()

    async def wait_idle(self) -> None:
        """Wait until no slot is in use."""
        await self._idle.wait()


class Deadline:
    """The moment after which nobody waits for an answer any more."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._moment = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then."""
        return max(0.0, self._moment - time.monotonic())

    def error(self) -> ApiError:
        """408, for a request that took too long."""
        return ApiError(
            408,
            "too_slow",
            f"the request took longer than {self._seconds:g} s; send fewer or shorter recordings",
        )

    def check(self) -> None:
        """Raise once the moment has passed."""
        if not self.left:
            raise self.error()

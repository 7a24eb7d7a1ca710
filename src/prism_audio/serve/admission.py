"""Who is let in: so many at once, and none once the service is stopping.

What was let in is counted until it is answered, so that a stop can wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from prism_audio.serve.refusal import busy, stopping


class Admission:
    """A bounded number of places; used from the event loop alone.

    Parameters
    ----------
    places : int
        How many there are.
    what : str
        Who takes them, for the refusal: "requests are being answered".

    Attributes
    ----------
    inside : int
        Those that were let in and have not left.
    stopping : bool
        Whether the door is closed.
    """

    def __init__(self, places: int, what: str) -> None:
        self._places, self._what = places, what
        self.inside = 0
        self.stopping = False
        self._empty = asyncio.Event()
        self._empty.set()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Be let in for the length of a block, or be refused with 429 or 503."""
        if self.stopping:
            raise stopping()
        if self.inside >= self._places:
            raise busy(f"{self.inside} {self._what}, which is the most at a time")
        self.inside += 1
        self._empty.clear()
        try:
            yield
        finally:
            self.inside -= 1
            if not self.inside:
                self._empty.set()

    async def all_left(self) -> None:
        """Wait until all that were let in have their answer."""
        await self._empty.wait()

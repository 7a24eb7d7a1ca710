"""The protocol of a sink, and the guard that keeps one sink's failure from the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from prism_audio.errors import PrismError
from prism_audio.station.messages import Message

FAILURES = (OSError, PrismError, sqlite3.Error)


class Sink(Protocol):
    """Where the messages of a station go. A sink takes the kinds it needs and leaves the others.

    Attributes
    ----------
    name : str
        For warnings.
    announces : bool
        Whether it speaks to people, and so gets no event in quiet hours.
    """

    name: str
    announces: bool

    def start(self) -> None:
        """Prepare; raises a :class:`PrismError` where it cannot be used at all."""

    def write(self, message: Message) -> bool:
        """Take a message, or leave it: whether anything was done.

        Raises an OSError, a PrismError or a sqlite3.Error where that fails.
        """
        ...

    def close(self) -> None:
        """Finish."""


class Guard:
    """A sink whose failures are told once and stop nothing; it is tried with every message.

    The reader of standard output who has left (a broken pipe) ends the station: nobody is there.
    """

    def __init__(self, sink: Sink, warn: Callable[[str], None]) -> None:
        self._sink, self._warn = sink, warn
        self.announces = sink.announces
        self._failing = False

    def start(self) -> None:
        """Prepare the sink."""
        self._sink.start()

    def write(self, message: Message) -> None:
        """Pass a message on."""
        try:
            worked = self._sink.write(message)
        except BrokenPipeError:
            raise
        except FAILURES as error:
            if not self._failing:
                self._warn(f"{self._sink.name}: {error}; listening goes on, and it is tried again")
            self._failing = True
            return
        if self._failing and worked:
            self._failing = False
            self._warn(f"{self._sink.name} works again")

    def close(self) -> None:
        """Finish the sink."""
        with suppress(*FAILURES):
            self._sink.close()

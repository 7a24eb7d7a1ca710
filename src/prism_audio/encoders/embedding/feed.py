"""Decode recordings ahead of their reader, on threads, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Full, Queue
from threading import Event

from prism_audio.audio.windows import Window, encoder_windows
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError

# How far decoding runs ahead: seconds of a file, and files for every thread.
AHEAD_SECONDS = 30.0
AHEAD_FILES = 4


class Unreadable(Exception):
    """A recording that could not be decoded; the message is the reason."""


class Feed:
    """One file on its way: a thread fills it with windows, the reader iterates over them once.

    Iterating raises :class:`Unreadable` where decoding failed, after the windows before that place.
    """

    def __init__(self, path: Path, room: int) -> None:
        self.path = path
        self._queue: Queue[Window | Unreadable | None] = Queue(room)

    def fill(self, encoder: Encoder, stop: Event) -> None:
        """Decode the file, waiting while the reader is behind, until its end or until ``stop``."""
        try:
            for window in encoder_windows(encoder, self.path):
                if not self._put(window, stop):
                    return
            self._put(None, stop)
        except PrismError as error:  # its message opens with the file, which its reader knows
            self._put(Unreadable(str(error).removeprefix(f"{self.path}: ")), stop)
        except Exception as error:  # one bad file never stops a run, whatever is bad about it
            self._put(Unreadable(f"{type(error).__name__}: {error}"), stop)

    def _put(self, item: Window | Unreadable | None, stop: Event) -> bool:
        # A plain put would keep this thread, and so the process, alive after the reader has gone.
        while not stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except Full:
                pass
        return False

    def __iter__(self) -> Iterator[Window]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, Unreadable):
                raise item
            yield item


def decoded_ahead(
    files: Iterable[Path], encoder: Encoder, workers: int
) -> Generator[Feed, None, None]:
    """The feeds of all files in order, those that are asked for next already being filled.

    Read each feed to its end before asking for the next. Closing the generator ends the threads.
    """
    room = max(2, int(AHEAD_SECONDS / encoder.window))
    stop = Event()
    ahead: deque[Feed] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        try:
            for path in files:
                ahead.append(Feed(path, room))
                pool.submit(ahead[-1].fill, encoder, stop)
                if len(ahead) > AHEAD_FILES * workers:
                    yield ahead.popleft()
            yield from ahead
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)

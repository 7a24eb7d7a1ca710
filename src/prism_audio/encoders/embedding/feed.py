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

# How far decoding runs ahead: seconds of one file, and of all files for every thread.
AHEAD_SECONDS = 30.0
AHEAD_TOTAL = 120.0
# Windows are handed over in pieces, because a hand-over between threads costs as much as a window.
PIECES = 4


class Unreadable(Exception):
    """A recording that could not be decoded; the message is the reason."""


class Feed:
    """One file on its way: a thread fills it with windows, the reader iterates over them once.

    Iterating raises :class:`Unreadable` where decoding failed, after the windows before that place.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # The most sound that waits in it: that of the file once it is decoded, else the limit.
        self.seconds = AHEAD_SECONDS
        self._queue: Queue[list[Window | Unreadable | None]] = Queue(PIECES)

    def fill(self, encoder: Encoder, stop: Event) -> None:
        """Decode the file, waiting while the reader is behind, until its end or until ``stop``."""
        most = max(1, int(AHEAD_SECONDS / PIECES / encoder.window))
        piece: list[Window | Unreadable | None] = []
        end = 0.0
        try:
            for window in encoder_windows(encoder, self.path):
                piece.append(window)
                end = window.end
                if len(piece) == most:
                    if not self._put(piece, stop):
                        return
                    piece = []
            piece.append(None)
        except PrismError as error:  # its message opens with the file, which its reader knows
            piece.append(Unreadable(str(error).removeprefix(f"{self.path}: ")))
        except Exception as error:  # one bad file never stops a run, whatever is bad about it
            piece.append(Unreadable(f"{type(error).__name__}: {error}"))
        if self._put(piece, stop):
            self.seconds = min(end, AHEAD_SECONDS)

    def _put(self, piece: list[Window | Unreadable | None], stop: Event) -> bool:
        # A plain put would keep this thread, and so the process, alive after the reader has gone.
        while not stop.is_set():
            try:
                self._queue.put(piece, timeout=0.1)
                return True
            except Full:
                pass
        return False

    def __iter__(self) -> Iterator[Window]:
        while True:
            for item in self._queue.get():
                if item is None:
                    return
                if isinstance(item, Unreadable):
                    raise item
                yield item


def decoded_ahead(
    files: Iterable[Path], encoder: Encoder, workers: int
) -> Generator[Feed, None, None]:
    """The feeds of all files in order, those that are asked for next already being filled.

    Read each feed to its end before asking for the next. Closing the generator ends the threads.
    Many short files or a few long ones are decoded ahead, whatever fits into the memory allowed.
    """
    room = AHEAD_TOTAL * workers - AHEAD_SECONDS
    stop = Event()
    ahead: deque[Feed] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="decode") as pool:
        try:
            for path in files:
                while sum(feed.seconds for feed in ahead) > room:
                    yield ahead.popleft()
                ahead.append(Feed(path))
                pool.submit(ahead[-1].fill, encoder, stop)
            yield from ahead
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)

"""A pipe for bytes from the event loop to a thread."""

from __future__ import annotations

import threading


class BytePipe:
    """Bytes from the event loop to a thread, which reads them like a file."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._buffer = bytearray()
        self._ended = False
        self._changed = threading.Condition()

    @property
    def full(self) -> bool:
        """Whether the writer should wait."""
        return len(self._buffer) >= self._most

    def write(self, data: bytes) -> None:
        with self._changed:
            self._buffer += data
            self._changed.notify()

    def end(self) -> None:
        """Close the pipe for writing."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def read(self, count: int = -1) -> bytes:
        """Up to ``count`` bytes, as soon as there are any; none at the end."""
        with self._changed:
            while not self._buffer and not self._ended:
                self._changed.wait()
            data = bytes(self._buffer[:count])
            del self._buffer[:count]
            return data

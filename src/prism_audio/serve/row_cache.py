"""Embedded recordings by the hash of their content, so that the same sound is embedded once.

Bounded in memory, and on the disk where the service has a store. A row id is a hash of the encoder
and of the bytes of the recording, so nobody can ask for a sound that they do not have.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from prism_audio.io.types import Float32

MEMORY_BYTES, DISK_BYTES = 256 * 2**20, 2 * 2**30
_ARRAYS = ("embedding", "start", "end", "windows", "warnings")


@dataclass(frozen=True, eq=False)
class EmbeddedRecording:
    """A recording and its embedding.

    Attributes
    ----------
    file : str
        The client's name for it.
    row : str
        The hash of its content; empty where it came as an embedding.
    embedding : (d,) array
        Its unit vector.
    start, end : (B,) arrays
        Where its windows lie, in seconds; none where it came as an embedding.
    windows : (B, d) array
        Their unit vectors.
    warnings : array of str
        What is odd about it, such as that it was cut short.
    """

    file: str
    row: str
    embedding: Float32
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    windows: Float32
    warnings: NDArray[np.str_]

    @property
    def seconds(self) -> float | None:
        """Length of the recording, where it is known."""
        return round(float(self.end[-1]), 3) if len(self.end) else None

    @classmethod
    def without_sound(cls, file: str, embedding: Float32) -> EmbeddedRecording:
        """An embedding that a client sent."""
        none = np.empty(0)
        windows = np.empty((0, len(embedding)), np.float32)
        return cls(file, "", embedding, none, none, windows, np.empty(0, np.str_))


class RowCache:
    """Embedded recordings, the latest used ones; on the disk, too, where there is a folder."""

    def __init__(self, dim: int, folder: Path | None) -> None:
        self._dim, self._folder = dim, folder
        self._memory: OrderedDict[str, EmbeddedRecording] = OrderedDict()
        self._disk: OrderedDict[str, int] = OrderedDict()  # size by id, the oldest first
        self._bytes = self._disk_bytes = 0
        self._lock = threading.Lock()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            files = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime)
            self._disk = OrderedDict((path.stem, path.stat().st_size) for path in files)
            self._disk_bytes = sum(self._disk.values())

    def get(self, id: str) -> EmbeddedRecording | None:
        """The recording of that id, or None where it is not kept any more."""
        with self._lock:
            if (recording := self._memory.get(id)) is not None:
                self._memory.move_to_end(id)
                return recording
            if self._folder is None or id not in self._disk:
                return None
            self._disk.move_to_end(id)
        recording = self._load(self._folder / f"{id}.npz", id)
        if recording is not None:
            self._remember(recording)
        return recording

    def put(self, recording: EmbeddedRecording) -> None:
        """Keep a recording; the least used ones give way."""
        self._remember(recording)
        if self._folder is None:
            return
        path = self._folder / f"{recording.row}.npz"
        temporary = path.with_name(f".{path.stem}.{token_hex(4)}.tmp")
        try:
            with temporary.open("xb") as file:
                np.savez(file, **{name: getattr(recording, name) for name in _ARRAYS})
                size = file.tell()
            temporary.replace(path)
        except OSError:  # a full disk costs the cache, not the answer
            with suppress(OSError):
                temporary.unlink()
            return
        with self._lock:
            self._disk_bytes += size - self._disk.get(recording.row, 0)
            self._disk[recording.row] = size
            while self._disk_bytes > DISK_BYTES:
                id, gone = self._disk.popitem(last=False)
                self._disk_bytes -= gone
                (self._folder / f"{id}.npz").unlink(missing_ok=True)

    def _remember(self, recording: EmbeddedRecording) -> None:
        with self._lock:
            if (old := self._memory.pop(recording.row, None)) is not None:
                self._bytes -= _size(old)
            self._memory[recording.row] = recording
            self._bytes += _size(recording)
            while self._bytes > MEMORY_BYTES and len(self._memory) > 1:
                _, oldest = self._memory.popitem(last=False)
                self._bytes -= _size(oldest)

    def _load(self, path: Path, id: str) -> EmbeddedRecording | None:
        with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
            with np.load(path, allow_pickle=False) as arrays:
                values = {name: arrays[name] for name in _ARRAYS}
            if values["embedding"].shape == (self._dim,) and len(values["end"]):
                return EmbeddedRecording(file=id, row=id, **values)
        return None


def _size(recording: EmbeddedRecording) -> int:
    return int(recording.windows.nbytes) + 4096

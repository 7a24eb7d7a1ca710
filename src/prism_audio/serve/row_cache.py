"""Embedded recordings by the hash of their content, so that the same sound is embedded once.

Bounded in memory, and on the disk where the service has a store: there in one SQLite database, because
a file for every recording costs as much as embedding it. A row id is a hash of the encoder and of the
bytes of the recording, so nobody can ask for a sound that they do not have.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.io.types import Float32

MEMORY_BYTES, DISK_BYTES = 256 * 2**20, 2 * 2**30
_ARRAYS = ("embedding", "start", "end", "features")
_TABLE = "CREATE TABLE IF NOT EXISTS rows (id TEXT PRIMARY KEY, warnings, arrays, used INTEGER)"
_INDEX = "CREATE INDEX IF NOT EXISTS oldest ON rows (used)"
_STATE = "SELECT total(length(arrays)), coalesce(max(used), 0) FROM rows"
_GET = "UPDATE rows SET used = ? WHERE id = ? RETURNING warnings, arrays"
_PUT = "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)"
_FORGET = "DELETE FROM rows WHERE id = ? RETURNING length(arrays)"
_DROP = "DELETE FROM rows WHERE used = (SELECT min(used) FROM rows) RETURNING length(arrays)"


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
    features : (B, f) array
        The encoder's features of them.
    encoder : Encoder
        What made these.
    warnings : sequence of str
        What is odd about it, such as that it was cut short.
    """

    file: str
    row: str
    embedding: Float32
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    features: Float32
    encoder: Encoder
    warnings: tuple[str, ...] = ()

    @cached_property
    def windows(self) -> Float32:
        """Unit vectors (B, d) of its windows, made when they are asked for: most answers need none."""
        weights = (self.end - self.start).astype(np.float32)
        each = range(len(weights))
        rows = [self.encoder.pool(self.features[i : i + 1], weights[i : i + 1]) for i in each]
        return np.array(rows, np.float32).reshape(len(rows), self.encoder.dim)

    @property
    def seconds(self) -> float | None:
        """Length of the recording, where it is known."""
        return round(float(self.end[-1]), 3) if len(self.end) else None

    @classmethod
    def without_sound(cls, file: str, embedding: Float32, encoder: Encoder) -> EmbeddedRecording:
        """An embedding that a client sent."""
        none = np.empty(0)
        return cls(file, "", embedding, none, none, np.empty((0, 0), np.float32), encoder)


class RowCache:
    """Embedded recordings, the latest used ones; on the disk, too, where there is a folder."""

    def __init__(self, encoder: Encoder, folder: Path | None) -> None:
        self._dim = encoder.dim
        self._memory: OrderedDict[str, EmbeddedRecording] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._disk = RowDatabase(folder, encoder) if folder else None

    def close(self) -> None:
        """Close what is on the disk."""
        if self._disk is not None:
            self._disk.close()

    def get(self, id: str) -> EmbeddedRecording | None:
        """The recording of that id, or None where it is not kept any more."""
        with self._lock:
            if (recording := self._memory.get(id)) is not None:
                self._memory.move_to_end(id)
                return recording
        if self._disk is None or (kept := self._disk.get(id)) is None:
            return None
        if kept.embedding.shape != (self._dim,) or not len(kept.end):
            return None
        self._remember(kept)
        return kept

    def put(self, recording: EmbeddedRecording) -> None:
        """Keep a recording; the least used ones give way."""
        self._remember(recording)
        if self._disk is not None:
            self._disk.put(recording)

    def _remember(self, recording: EmbeddedRecording) -> None:
        with self._lock:
            if (old := self._memory.pop(recording.row, None)) is not None:
                self._bytes -= _size(old)
            self._memory[recording.row] = recording
            self._bytes += _size(recording)
            while self._bytes > MEMORY_BYTES and len(self._memory) > 1:
                _, oldest = self._memory.popitem(last=False)
                self._bytes -= _size(oldest)


class RowDatabase:
    """Embedded recordings in a database that may be lost: what cannot be read is embedded again."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self._encoder = encoder
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.npz"):  # one file a recording, as it was kept before
            old.unlink()
        path = folder / "rows.sqlite"
        try:
            self._rows = _connect(path)
        except sqlite3.OperationalError as error:
            raise PrismError(
                f"cannot use {path}: {error}; remove it, or give another --store"
            ) from None
        except sqlite3.DatabaseError:  # damaged: it is begun anew
            for part in folder.glob("rows.sqlite*"):
                part.unlink()
            self._rows = _connect(path)
        self._bytes, self._used = map(int, self._rows.execute(_STATE).fetchone())
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._rows.close()

    def get(self, id: str) -> EmbeddedRecording | None:
        """The recording of that id, if it is there and whole."""
        try:
            with self._lock:
                self._used += 1
                found = self._rows.execute(_GET, (self._used, id)).fetchone()
        except sqlite3.Error:
            return None
        if found is None:
            return None
        try:
            warnings, arrays = tuple(json.loads(found[0])), load(found[1])
            values = {name: arrays[name] for name in _ARRAYS}
        except (SafetensorError, KeyError, ValueError):
            with self._lock, suppress(sqlite3.Error):  # to be embedded and kept again
                self._bytes -= self._rows.execute(_FORGET, (id,)).fetchone()[0]
            return None
        return EmbeddedRecording(id, id, **values, encoder=self._encoder, warnings=warnings)

    def put(self, recording: EmbeddedRecording) -> None:
        """Keep a recording; a full disk costs the cache, not the answer."""
        # What is not contiguous would be written in a wrong order.
        arrays = save({name: np.ascontiguousarray(getattr(recording, name)) for name in _ARRAYS})
        warnings = json.dumps(recording.warnings)
        with self._lock, suppress(sqlite3.Error):
            self._used += 1
            added = self._rows.execute(_PUT, (recording.row, warnings, arrays, self._used))
            self._bytes += len(arrays) * added.rowcount
            while self._bytes > DISK_BYTES:
                self._bytes -= self._rows.execute(_DROP).fetchone()[0]


def _connect(path: Path) -> sqlite3.Connection:
    # One process has the store, and a crash may cost rows: no shared memory, no waiting for the disk.
    rows = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = OFF"):
        rows.execute(f"PRAGMA {setting}")
    rows.execute(_TABLE)
    rows.execute(_INDEX)
    return rows


def _size(recording: EmbeddedRecording) -> int:
    return 2 * int(recording.features.nbytes) + 4096  # its windows may be asked for

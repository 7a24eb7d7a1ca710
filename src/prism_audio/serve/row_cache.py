"""Cache of embedded recordings by the hash of their content: the same sound is embedded once.

Bounded in memory, and on the disk where the service has a store. A row id is a hash of the encoder
and of the bytes of the recording, so nobody can ask for a sound that they do not have.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from zipfile import BadZipFile

import numpy as np

from prism_audio.encoders.protocol import Encoder
from prism_audio.serve.embed_recording import EmbeddedRecording
from prism_audio.serve.uploads import Recording

MEMORY_BYTES, DISK_BYTES = 256 * 2**20, 2 * 2**30
_ARRAYS = ("embedding", "start", "end", "weight", "features")
_CHUNK = 1 << 20


class RowCache:
    """Embedded recordings, the latest used ones.

    Parameters
    ----------
    encoder : Encoder
        What embeds them.
    folder : path, optional
        Where they are kept on the disk, too.
    """

    def __init__(self, encoder: Encoder, folder: Path | None) -> None:
        self._encoder, self._folder = encoder, folder
        self._memory: OrderedDict[str, EmbeddedRecording] = OrderedDict()
        self._bytes = 0
        self._disk: OrderedDict[str, int] = OrderedDict()  # size by id, the oldest first
        self._lock = threading.Lock()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            files = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime)
            self._disk = OrderedDict((path.stem, path.stat().st_size) for path in files)

    def id_of(self, recording: Recording) -> str:
        """The id of a recording; reads all of it."""
        digest = hashlib.sha256(self._encoder.fingerprint.encode())
        recording.seek(0)
        while chunk := recording.read(_CHUNK):
            digest.update(chunk)
        recording.seek(0)
        return digest.hexdigest()[:32]

    def get(self, id: str) -> EmbeddedRecording | None:
        """The recording of that id, or None where it is not kept any more."""
        with self._lock:
            if (found := self._memory.get(id)) is not None:
                self._memory.move_to_end(id)
                return found
            if self._folder is None or id not in self._disk:
                return None
            self._disk.move_to_end(id)
        found = self._load(self._folder / f"{id}.npz", id)
        if found is not None:
            self._remember(found)
        return found

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
            size = temporary.stat().st_size
            temporary.replace(path)
        except OSError:  # a full disk costs the cache, not the answer
            with suppress(OSError):
                temporary.unlink()
            return
        with self._lock:
            self._disk[recording.row] = size
            while sum(self._disk.values()) > DISK_BYTES:
                id, _ = self._disk.popitem(last=False)
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
            if values["embedding"].shape == (self._encoder.dim,) and len(values["end"]):
                return EmbeddedRecording(file=id, row=id, encoder=self._encoder, **values)
        return None


def _size(recording: EmbeddedRecording) -> int:
    # Unit vectors of the windows are added once a timeline is asked for.
    return 2 * int(recording.features.nbytes) + 4096

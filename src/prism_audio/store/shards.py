"""One shard of a store: a safetensors file with embeddings and a list of the files they came from.

A shard is written once, whole, and never changed. It carries a hash of all it holds, and is checked
before it is used: a damaged shard is a :class:`DamagedShard`, and ``prism embed`` replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import PrismError, StoreError
from prism_audio.io.atomic import atomic_write
from prism_audio.io.safe_tensors import (
    MAX_HEADER,
    TensorFileError,
    TensorHeader,
    dump,
    parse_json,
    read_header,
)
from prism_audio.io.types import Float32

_LAYOUT = {"embeddings": (np.float32, 2), "start": (np.float64, 1), "end": (np.float64, 1)}
# Room in a header for what is not the list of files.
_HEADER_REST = 2**14


class DamagedShard(StoreError):
    """A file that is not the shard that was written, or is no shard at all."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} is not a whole shard ({reason}); run 'prism embed' again: its recordings will "
            "be embedded again"
        )
        self.path, self.reason = path, str(reason)


class Entry(NamedTuple):
    """The record of one file in a shard."""

    path: str  # relative to the folder that was embedded, with forward slashes
    # Of the file as it was embedded.
    size: int
    mtime_ns: int
    sha256: str = ""  # of its content; empty where it could not be embedded
    rows: int = 0  # how many rows of the shard belong to it; they follow those of the entry before
    reason: str = ""  # why it could not be embedded; empty where it was


_ENTRY_TYPES = (str, int, int, str, int, str)


@dataclass(frozen=True)
class Shard:
    """A shard on disk that has passed all checks; its arrays are mapped when asked for."""

    header: TensorHeader
    settings: dict[str, Any]
    entries: list[Entry]
    has_hash: bool

    @property
    def path(self) -> Path:
        return self.header.path

    def array(self, name: str) -> NDArray[Any]:
        """``embeddings`` (n, d), ``start`` or ``end`` (n,), read from the disk as it is used."""
        _, shape, offset = self.header.tensors[name]
        dtype: Any = _LAYOUT[name][0]
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.memmap(self.path, dtype, "r", offset, shape)


def write_shard(
    path: Path,
    settings: dict[str, Any],
    entries: list[Entry],
    embeddings: Float32,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
) -> None:
    """Write a shard under ``path``, entirely or not at all."""
    # JSON in ASCII, because a file name need not be valid UTF-8.
    about = {"settings": settings, "entries": [list(entry) for entry in entries]}
    arrays: dict[str, NDArray[Any]] = {"embeddings": embeddings, "start": start, "end": end}
    write_file(path, dump(arrays, {"prism": json.dumps(about)}))


def fitting(entries: list[Entry]) -> Iterator[list[Entry]]:
    """The entries in groups, of which each fits into the header of one shard."""
    group: list[Entry] = []
    room = MAX_HEADER - _HEADER_REST
    for entry in entries:
        # The list of files is JSON within JSON.
        size = len(json.dumps(json.dumps(entry)))
        if size > room and group:
            yield group
            group, room = [], MAX_HEADER - _HEADER_REST
        group.append(entry)
        room -= size
    yield group


def read_shard(path: Path) -> Shard:
    """Read and check a shard; one that is not as it was written is a :class:`DamagedShard`."""
    try:
        header = read_header(path)
        about = parse_json(header.metadata.get("prism", "null"))
        if not isinstance(about, dict) or not isinstance(about.get("settings"), dict):
            raise TensorFileError("it is a safetensors file of another kind")
        entries = _entries(about.get("entries"))
        _check_layout(header, sum(entry.rows for entry in entries))
        intact = header.is_intact()
        if intact is False:
            raise TensorFileError("its content does not fit its hash")
    except TensorFileError as error:
        raise DamagedShard(path, error) from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    return Shard(header, about["settings"], entries, intact is not None)


def _entries(values: Any) -> list[Entry]:
    if not isinstance(values, list):
        raise TensorFileError("it has no list of files")
    for value in values:
        if not isinstance(value, list) or tuple(map(type, value)) != _ENTRY_TYPES or value[4] < 0:
            raise TensorFileError("its list of files cannot be read")
    return [Entry(*value) for value in values]


def _check_layout(header: TensorHeader, rows: int) -> None:
    """Refuse other arrays than those of a shard with so many rows."""
    if header.tensors.keys() != _LAYOUT.keys():
        raise TensorFileError("its arrays are not those of a shard")
    for name, (dtype, dimensions) in _LAYOUT.items():
        tensor = header.tensors[name]
        if tensor.dtype != dtype or len(tensor.shape) != dimensions:
            raise TensorFileError(f"{name} is no array of {dimensions} dimensions")
        if tensor.shape[0] != rows:
            raise TensorFileError("its rows do not match its files")


def write_file(path: Path, data: bytes) -> None:
    """Write a file of a store, entirely or not at all."""
    try:
        with atomic_write(path) as file:
            file.write(data)
    except PrismError as error:
        raise StoreError(
            f"{error}; what was written before is safe: make room or correct the permissions, then "
            "run the same command again"
        ) from None

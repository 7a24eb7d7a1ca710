"""One shard: a safetensors file with some embeddings and an account of the files they came from.

A shard is written once, whole, and never changed: its bytes go to a temporary name, to the disk,
and only then to the name a reader looks for. So it is there entirely or not at all, whenever the
process dies. What a shard tells about its files, failed ones included, lies in its header.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from prism_audio.errors import PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.io.types import Float32

_DTYPES = {"F32": np.float32, "F64": np.float64}


class StoreError(PrismError):
    """A store that cannot be read or added to; the message says why and what to do."""


class Entry(NamedTuple):
    """What a shard tells of one file.

    Attributes
    ----------
    path : str
        Relative to the folder that was embedded, with forward slashes.
    size, mtime_ns : int
        Of the file as it was embedded.
    sha256 : str
        Of its content; empty where it could not be embedded.
    rows : int
        How many rows of the shard are its own; they follow those of the entry before.
    reason : str
        Why it could not be embedded; empty where it was.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str = ""
    rows: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Shard:
    """A shard on disk whose header has been read; its arrays are mapped when asked for."""

    path: Path
    settings: dict[str, Any]
    entries: list[Entry]
    layout: dict[str, tuple[str, tuple[int, ...], int]]

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return self.layout["embeddings"][1][0]

    def array(self, name: str) -> NDArray[Any]:
        """``embeddings`` (n, d), ``start`` or ``end`` (n,), read from the disk as it is used."""
        dtype, shape, offset = self.layout[name]
        if not shape[0]:
            return np.empty(shape, _DTYPES[dtype])
        return np.memmap(self.path, _DTYPES[dtype], "r", offset, shape)


def write_shard(
    path: Path,
    settings: dict[str, Any],
    entries: list[Entry],
    embeddings: Float32,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
) -> None:
    """Write a shard under ``path``, entirely or not at all."""
    # One key only: safetensors writes several in no fixed order, and equal shards must be equal
    # bytes. JSON in ASCII, because a file name need not be valid UTF-8.
    about = {"settings": settings, "entries": [list(entry) for entry in entries]}
    arrays: dict[str, NDArray[Any]] = {"embeddings": embeddings, "start": start, "end": end}
    write_file(path, save(arrays, metadata={"prism": json.dumps(about)}))


def read_shard(path: Path) -> Shard:
    """Read a shard's header and check that all its bytes are there."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length < path.stat().st_size:
                raise ValueError("its header is cut short")
            header = json.loads(file.read(length))
        about = json.loads(header.pop("__metadata__")["prism"])
        begin = 8 + length
        layout = {
            name: (tensor["dtype"], tuple(tensor["shape"]), begin + tensor["data_offsets"][0])
            for name, tensor in header.items()
        }
        size = begin + max(tensor["data_offsets"][1] for tensor in header.values())
        if path.stat().st_size != size:
            raise ValueError(f"it has {path.stat().st_size} bytes, its header promises {size}")
        shard = Shard(path, about["settings"], [Entry(*one) for one in about["entries"]], layout)
        rows = sum(entry.rows for entry in shard.entries)
        if any(layout[name][1][0] != rows for name in ("embeddings", "start", "end")):
            raise ValueError("its rows do not match its files")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StoreError(
            f"{path} is not a whole shard ({error}); delete this one file and run "
            "'prism embed' again: only its recordings will be embedded anew"
        ) from error
    return shard


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

"""Rows on disk, read a chunk at a time: ``.npy``, ``.safetensors`` and ``.parquet`` files.

Files are read, not mapped: pages of a mapped file would count as memory of the process.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError
from prism_audio.io.matrices import parquet_reader
from prism_audio.io.types import Float

SAFETENSORS_TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
_NAMES = ("embeddings", "embedding", "E", "X")


class Piece(Protocol):
    """Some rows that lie together."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The rows from ``start`` to ``stop``."""
        ...


@dataclass(frozen=True)
class Flat:
    """Rows that follow each other in a file, number by number."""

    path: Path
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, int]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        d = self.shape[1]
        skip = self.offset + start * d * self.dtype.itemsize
        numbers = np.fromfile(self.path, self.dtype, (stop - start) * d, offset=skip)
        if len(numbers) < (stop - start) * d:
            raise InputError(f"{self.path} ends before its row {stop}; it is not whole")
        return numbers.reshape(-1, d)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some of the rows of a piece, by their places."""

    piece: Piece
    places: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.places), self.piece.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.piece.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        places = self.places[start:stop]
        first = int(places[0])
        return self.piece.read(first, int(places[-1]) + 1)[places - first]


@dataclass(frozen=True)
class RowGroup:
    """A row group of a parquet file with a column of lists, one list a row."""

    path: Path
    group: int
    column: str
    dtype: np.dtype[Any]
    shape: tuple[int, int]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        from pyarrow import parquet

        table = parquet.ParquetFile(self.path).read_row_group(self.group, [self.column])
        part = table.column(0).slice(start, stop - start).combine_chunks()
        return np.asarray(part.flatten()).reshape(stop - start, -1)


@dataclass(frozen=True, eq=False)
class Held:
    """Rows of an array: in memory, or mapped by the caller."""

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self.array[start:stop]


@dataclass(frozen=True)
class RowTable:
    """Pieces one after the other, as one matrix (N, d) that is read in chunks."""

    pieces: Sequence[Piece]
    name: str = "X"

    def __post_init__(self) -> None:
        widths = {piece.shape[1] for piece in self.pieces}
        if not self.pieces or not self.shape[0]:
            raise InputError(f"{self.name} holds no rows")
        if len(widths) > 1:
            raise InputError(
                f"{self.name} holds rows of {sorted(widths)} dimensions; wanted one width"
            )

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(piece.shape[0] for piece in self.pieces))

    @property
    def shape(self) -> tuple[int, int]:
        return self._ends[-1], self.pieces[0].shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 for rows of float64 or integers, else float32."""
        found = np.result_type(*(piece.dtype for piece in self.pieces))
        return np.dtype(np.float32 if found in (np.float16, np.float32) else np.float64)

    def read(self, start: int, stop: int) -> Float:
        """The rows from ``start`` to ``stop`` in the type of the table."""
        parts = []
        at = bisect_right(self._ends, start)
        while start < stop:
            piece = self.pieces[at]
            begin = self._ends[at] - piece.shape[0]
            end = min(stop, self._ends[at])
            if end > start:
                parts.append(piece.read(start - begin, end - begin))
            start, at = end, at + 1
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return np.ascontiguousarray(rows, dtype=self.dtype)


def open_file(path: str | os.PathLike[str]) -> RowTable:
    """The rows of a ``.npy``, ``.safetensors`` or ``.parquet`` file."""
    file = Path(path)
    openers = {".npy": _npy, ".safetensors": _safetensors, ".parquet": _parquet}
    opener = openers.get(file.suffix.lower())
    if opener is None:
        raise InputError(
            f"{file} cannot be read in chunks; wanted a store of 'prism embed', or one of "
            f"{', '.join(openers)}"
        )
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    try:
        return RowTable(opener(file), str(file))
    except InputError:
        raise
    except Exception as error:  # every format has its own kinds of damage
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"cannot read embeddings from {file}: {reason}") from None


def _npy(file: Path) -> list[Piece]:
    with file.open("rb") as handle:
        version = np.lib.format.read_magic(handle)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(handle)
        offset = handle.tell()
    if len(shape) != 2 or fortran or dtype.kind not in "fiu":
        raise InputError(
            f"{file} holds {dtype} {shape}{' by columns' if fortran else ''}; wanted numbers "
            "(rows, dimensions), row by row"
        )
    return [Flat(file, dtype, offset, shape)]


def _safetensors(file: Path) -> list[Piece]:
    with file.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        if not 0 < length < file.stat().st_size:
            raise InputError(f"{file} is no whole safetensors file")
        header = json.loads(handle.read(length))
    header.pop("__metadata__", None)
    matrices = {name: about for name, about in header.items() if len(about["shape"]) == 2}
    name = next((name for name in _NAMES if name in matrices), None)
    if name is None and len(matrices) == 1:
        (name,) = matrices
    if name is None or matrices[name]["dtype"] not in SAFETENSORS_TYPES:
        raise InputError(
            f"{file} holds {', '.join(header) or 'nothing'}; wanted floats 'embeddings'"
        )
    about = matrices[name]
    kind = np.dtype(SAFETENSORS_TYPES[about["dtype"]])
    n, d = about["shape"]
    return [Flat(file, kind, 8 + length + about["data_offsets"][0], (n, d))]


def _parquet(file: Path) -> list[Piece]:
    parquet, types = parquet_reader(file)

    found = parquet.ParquetFile(file)
    lists = [
        field.name
        for field in found.schema_arrow
        if types.is_fixed_size_list(field.type) and types.is_floating(field.type.value_type)
    ]
    name = next((name for name in _NAMES if name in lists), lists[0] if len(lists) == 1 else None)
    if name is None:
        raise InputError(
            f"{file} holds {', '.join(found.schema_arrow.names)}; to be read in chunks it needs a "
            "column 'embeddings' of lists of one fixed size"
        )
    kind = found.schema_arrow.field(name).type
    dtype = np.dtype(kind.value_type.to_pandas_dtype())
    return [
        RowGroup(file, group, name, dtype, (rows, kind.list_size))
        for group in range(found.num_row_groups)
        if (rows := found.metadata.row_group(group).num_rows)
    ]

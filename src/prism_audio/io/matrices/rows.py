"""Readers of rows: the protocol, and rows in a flat file, in memory, or chosen from another reader."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError

# What an array of row names may be called.
LABELS = ("labels", "label", "classes", "names")


class RowReader(Protocol):
    """An array whose rows are read on demand."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, then the shape of one row."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers that ``read`` returns."""
        ...

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The rows from ``start`` to ``stop``."""
        ...


@dataclass(frozen=True)
class FileContents:
    """What a file of arrays holds; for large arrays only the header has been read."""

    # The arrays of numbers by their names; a file that names none calls its array ``""``.
    arrays: Mapping[str, RowReader]
    # Gives the names of the rows, where the file has any.
    read_labels: Callable[[], Sequence[str]] = tuple
    others: tuple[str, ...] = ()  # what else the file holds, for messages


def memory_contents(arrays: Mapping[str, Any]) -> FileContents:
    """The contents of a file whose arrays are all in memory; one named ``labels`` may hold text."""
    cells = {name: np.asarray(array) for name, array in arrays.items()}
    labels = next((cells[name] for name in LABELS if name in cells), np.empty(0))
    return FileContents(
        {name: MemoryRows(array) for name, array in cells.items() if array.dtype != object},
        labels.tolist if labels.ndim == 1 else tuple,
        tuple(name for name, array in cells.items() if array.dtype == object),
    )


@dataclass(frozen=True)
class FlatRows:
    """Rows that follow each other in a file, number by number.

    The file is read, not mapped: pages of a mapped file would count as memory of the process.
    """

    path: Path
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        # Before anything is allocated: a header may claim any size.
        end = self.offset + math.prod(self.shape) * self.dtype.itemsize
        if min(self.shape, default=0) < 0 or end > self.path.stat().st_size:
            raise InputError(f"{self.path} ends before its row {self.shape[0]}; it is not whole")

    def read(self, start: int, stop: int) -> NDArray[Any]:
        width = math.prod(self.shape[1:])
        skip = self.offset + start * width * self.dtype.itemsize
        numbers = np.fromfile(self.path, self.dtype, (stop - start) * width, offset=skip)
        if len(numbers) < (stop - start) * width:
            raise InputError(f"{self.path} ends before its row {stop}; it is not whole")
        return numbers.reshape(stop - start, *self.shape[1:])


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Rows of an array in memory, or mapped by the caller."""

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self.array[start:stop]


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Some of the rows of another reader, by their sorted positions."""

    reader: RowReader
    places: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.places), *self.reader.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.reader.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        places = self.places[start:stop]
        first = int(places[0])
        return self.reader.read(first, int(places[-1]) + 1)[places - first]

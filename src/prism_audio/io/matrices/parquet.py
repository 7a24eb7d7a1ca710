"""Apache Parquet: a column of lists, or a column a dimension, decoded batch after batch.

A row group of a Parquet file can only be decoded from its first row on. The reader therefore keeps its
position in the file: reading rows in order decodes every row group once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError
from prism_audio.io.matrices.rows import LABELS, FileContents
from prism_audio.io.runtime import import_extra

BATCH_ROWS = 4096
# Column chunks are read in pieces of this size; read at once, one may be as large as the file.
_BUFFER_BYTES = 2**20
_COLUMNS_AT_ONCE = 16


def open_parquet(file: Path) -> FileContents:
    """The columns of lists in a file; its columns of single floats together are ``embeddings``."""
    parquet, types = _pyarrow(file)
    opened = parquet.ParquetFile(file)
    about, schema = opened.metadata, opened.schema_arrow
    sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
    starts = [0, *accumulate(sizes)][:-1]
    columns: dict[str, tuple[list[str], Any, int]] = {}
    for name, kind in zip(schema.names, schema.types, strict=True):
        if types.is_fixed_size_list(kind):
            columns[name] = [name], kind.value_type, kind.list_size
        elif types.is_list(kind) or types.is_large_list(kind):
            columns[name] = [name], kind.value_type, _first_length(opened, name)
    singles = [name for name in schema.names if types.is_floating(schema.field(name).type)]
    if singles and "embeddings" not in columns:
        columns["embeddings"] = singles, schema.field(singles[0]).type, len(singles)
    arrays = {
        name: ParquetRows(file, tuple(names), _dtype(kind), (about.num_rows, width), starts)
        for name, (names, kind, width) in columns.items()
        if types.is_floating(kind) or types.is_integer(kind)
    }
    others = [name for name in schema.names if name not in columns and name not in singles]
    labels = next((name for name in LABELS if name in others), None)
    return FileContents(arrays, partial(_texts, opened, labels), tuple(others))


def _dtype(kind: Any) -> np.dtype[Any]:
    """NumPy's type of an Arrow number; Arrow's own way to tell it needs pandas in old versions."""
    floats = {"halffloat": "float16", "float": "float32", "double": "float64"}
    return np.dtype(floats.get(str(kind), str(kind)))


@dataclass(eq=False)
class ParquetRows:
    """Rows from a column of lists, or from several columns of single floats."""

    path: Path  # the file
    columns: tuple[str, ...]  # the column of lists, or the columns of floats
    # As in every :class:`~prism_audio.io.matrices.rows.RowReader`.
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    starts: list[int]  # the first row of every row group
    # The position: a decoded batch, the number of its first row, and the batches that follow it.
    _batch: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    _first: int = field(default=0, repr=False)
    _batches: Iterator[NDArray[Any]] = field(default_factory=lambda: iter(()), repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Sent to another process, a reader begins anew.
        return ParquetRows, (self.path, self.columns, self.dtype, self.shape, self.starts)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        parts: list[NDArray[Any]] = []
        group = bisect_right(self.starts, start) - 1
        end = self._first + len(self._batch)
        if not self._first <= start or self.starts[group] > end or end == 0:
            self._first, self._batch = self.starts[group], np.empty((0, 0))
            self._batches = self._decode(group)
        while start < stop:
            end = self._first + len(self._batch)
            if start < end:
                parts.append(self._batch[start - self._first : stop - self._first])
                start += len(parts[-1])
            else:
                self._first, self._batch = end, next(self._batches)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _decode(self, group: int) -> Iterator[NDArray[Any]]:
        parquet, _ = _pyarrow(self.path)
        file = parquet.ParquetFile(self.path, buffer_size=_BUFFER_BYTES)
        groups, columns = range(group, len(self.starts)), list(self.columns)
        for batch in file.iter_batches(BATCH_ROWS, groups, columns, use_threads=False):
            if len(columns) == 1 and hasattr(batch.column(0), "flatten"):
                yield self._from_lists(batch.column(0))
            else:
                yield self._from_columns(batch.columns)

    def _from_lists(self, column: Any) -> NDArray[Any]:
        n, width = len(column), self.shape[1]
        values = column.flatten()
        lengths = column.value_lengths() if hasattr(column, "value_lengths") else [width]
        if len(values) != n * width or values.null_count or not np.all(np.equal(lengths, width)):
            raise InputError(
                f"{self.path}: the lists in column {self.columns[0]!r} have gaps or several "
                f"lengths; wanted {width} numbers in every row"
            )
        return np.asarray(values).reshape(n, width)

    def _from_columns(self, columns: Sequence[Any]) -> NDArray[Any]:
        rows = np.empty((len(columns[0]), len(columns)), self.dtype)
        # A few columns at a time fill whole cache lines of the rows, which is five times as fast.
        for start in range(0, len(columns), _COLUMNS_AT_ONCE):
            some = columns[start : start + _COLUMNS_AT_ONCE]
            rows[:, start : start + len(some)] = np.array([c.to_numpy(False) for c in some]).T
        return rows


def _first_length(opened: Any, name: str) -> int:
    """How long the first list of a column is."""
    for batch in opened.iter_batches(1, columns=[name]):
        return len(batch.column(0).flatten())
    return 0


def _texts(opened: Any, name: str | None) -> Sequence[str]:
    return opened.read([name]).column(0).to_pylist() if name else ()


def _pyarrow(file: Path) -> tuple[Any, Any]:
    """pyarrow's modules ``parquet`` and ``types``, or an error that says how ``file`` can be read."""
    remedy = (
        f"{file}: .parquet files need pyarrow (pip install 'prism-audio[bench]'); "
        "or save the array as .npy"
    )
    modules = ("pyarrow.parquet", "pyarrow.types")
    parquet, types = (import_extra(module, remedy, InputError) for module in modules)
    return parquet, types

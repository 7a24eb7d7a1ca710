"""Decode the rows of a table once, into a temporary file that is as fast to read as ``.npy``.

A calibration reads its rows a dozen times, and to decode Parquet takes twenty times as long as to read
plain numbers.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.io.cache import user_cache
from prism_audio.io.matrices.parquet import BATCH_ROWS, ParquetRows
from prism_audio.io.matrices.table import RowTable

# Room that must be left on the disk.
_SPARE_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class TemporaryRows:
    """Rows in an open file without a name; the system removes it with the process."""

    file: IO[bytes]
    dtype: np.dtype[Any]
    shape: tuple[int, int]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        width = self.shape[1]
        self.file.seek(start * width * self.dtype.itemsize)
        return np.fromfile(self.file, self.dtype, (stop - start) * width).reshape(-1, width)


def flat_copy(table: RowTable) -> RowTable:
    """The same table, decoded into the user's cache folder where it must be decoded and there is room.

    Not into the system's temporary folder, which is memory on many machines.
    """
    if not any(isinstance(part, ParquetRows) for part in table.parts):
        return table
    N, d = table.shape
    folder = user_cache("rows")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < N * d * table.dtype.itemsize + _SPARE_BYTES:
            return table
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as the rows
        for start in range(0, N, BATCH_ROWS):
            table.read(start, min(start + BATCH_ROWS, N)).tofile(file)
        file.flush()
    except OSError:  # no folder, no room after all: then every pass decodes
        return table
    return RowTable([TemporaryRows(file, table.dtype, (N, d))], table.name)

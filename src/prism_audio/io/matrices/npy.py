"""NumPy's ``.npy``: one array, read in place where it lies row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prism_audio.io.matrices.rows import FileContents, FlatRows, MemoryRows


def open_npy(file: Path) -> FileContents:
    """The array of a file; one by columns, or of another kind than numbers, is read at once."""
    with file.open("rb") as handle:
        try:
            version = np.lib.format.read_magic(handle)
        except ValueError:  # np.load says better what it is instead
            return FileContents({"": MemoryRows(np.load(file, allow_pickle=False))})
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(handle)
        if shape and not by_columns and dtype.kind in "fiub":
            return FileContents({"": FlatRows(file, dtype, handle.tell(), shape)})
    return FileContents({"": MemoryRows(np.load(file, allow_pickle=False))})

"""The rows of a store, or of a file of arrays, as one table that is read in chunks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from prism_audio.errors import InputError
from prism_audio.io.matrices import ChosenRows, FlatRows, RowReader, RowTable, open_matrix
from prism_audio.store.store import SETTINGS_FILE, Store


def open_table(path: str | os.PathLike[str]) -> RowTable:
    """The rows of a store, or of a ``.npy``, ``.safetensors`` or ``.parquet`` file."""
    folder = Path(path)
    if not (folder / SETTINGS_FILE).is_file():
        return open_matrix(folder)
    pieces: list[RowReader] = []
    for shard, places in Store.open(folder).current_rows():
        _, shape, offset = shard.header.tensors["embeddings"]
        flat = FlatRows(shard.path, np.dtype(np.float32), offset, shape)
        if len(places) == shape[0]:
            pieces.append(flat)
        elif len(places):
            pieces.append(ChosenRows(flat, places))
    if not pieces:
        raise InputError(f"{folder} holds no embeddings yet; run 'prism embed' to its end")
    return RowTable(pieces, str(folder))

"""The rows of a store, or of a file of arrays, as one table that is read in chunks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from prism_audio.errors import InputError
from prism_audio.io.row_files import SAFETENSORS_TYPES, Chosen, Flat, Piece, RowTable, open_file
from prism_audio.store.store import SETTINGS_FILE, Store


def open_table(path: str | os.PathLike[str]) -> RowTable:
    """The rows of a store, or of a ``.npy``, ``.safetensors`` or ``.parquet`` file."""
    folder = Path(path)
    if not (folder / SETTINGS_FILE).is_file():
        return open_file(folder)
    pieces: list[Piece] = []
    for shard, places in Store.open(folder).current_rows():
        kind, shape, offset = shard.layout["embeddings"]
        dtype = np.dtype(SAFETENSORS_TYPES[kind])
        flat = Flat(shard.path, dtype, offset, (shape[0], shape[1]))
        if len(places) == shape[0]:
            pieces.append(flat)
        elif len(places):
            pieces.append(Chosen(flat, places))
    if not pieces:
        raise InputError(f"{folder} holds no embeddings yet; run 'prism embed' to its end")
    return RowTable(pieces, str(folder))

"""``.safetensors``: named arrays, each read in place."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from prism_audio.io.matrices.rows import FileContents, FlatRows
from prism_audio.io.safe_tensors import read_header

# The labels of many rows may lie in a header; a file of our own has a smaller limit.
MAX_HEADER = 2**24


def open_safetensors(file: Path) -> FileContents:
    """The arrays of a file, and the labels that its metadata may hold as a JSON list."""
    header = read_header(file, MAX_HEADER)
    arrays = {
        name: FlatRows(file, tensor.dtype, tensor.offset, tensor.shape)
        for name, tensor in header.tensors.items()
        if tensor.dtype is not None
    }
    others = tuple(name for name in header.tensors if name not in arrays)
    return FileContents(arrays, partial(json.loads, header.metadata.get("labels", "[]")), others)

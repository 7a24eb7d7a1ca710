"""Recognise an exported head, and tell a whole one from one that is cut off."""

from __future__ import annotations

import io
import json

import numpy as np

from prism_audio.export.arrays import FORMAT
from prism_audio.io.runtime import import_onnxruntime

# In JSON and ONNX, in NPZ (NumPy keeps text in four bytes a character), in the C header.
_SIGNS = (FORMAT.encode(), FORMAT.encode("utf-32-le"), b"PRISM_HEAD_H")


def is_head(data: bytes) -> bool:
    """Whether this is, or was, a file that ``prism export`` wrote."""
    return any(sign in data for sign in _SIGNS)


def is_whole(data: bytes, suffix: str) -> bool:
    """Whether a file of this suffix can be read to its end."""
    try:
        if suffix == ".json":
            json.loads(data)
        elif suffix == ".npz":
            # zipfile accepts an archive whose comment is cut off.
            end = data.rindex(b"PK\x05\x06") + 22
            if end + int.from_bytes(data[end - 2 : end], "little") != len(data):
                return False
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                for name in arrays.files:
                    arrays[name]
        elif suffix == ".onnx":
            import_onnxruntime().InferenceSession(data, providers=["CPUExecutionProvider"])
        else:
            return b"#endif" in data
    except Exception:  # whatever a parser raises: the file cannot be read
        return False
    return True

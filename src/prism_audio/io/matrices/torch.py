"""Tensors saved by ``torch.save`` in a ``.pt`` file; they are read at once, as numbers only."""

from __future__ import annotations

from pathlib import Path

from prism_audio.errors import InputError
from prism_audio.io.arrays import to_numpy
from prism_audio.io.matrices.rows import FileContents, memory_contents
from prism_audio.io.runtime import import_extra


def open_torch(file: Path) -> FileContents:
    """The tensor, or the tensors by their names, of a file."""
    torch = import_extra(
        "torch",
        f"{file}: .pt files need torch (pip install 'prism-audio[clap]'); or save the array as .npy",
        InputError,
    )
    value = torch.load(file, map_location="cpu", weights_only=True)
    if isinstance(value, torch.Tensor):
        value = {"": value}
    if not isinstance(value, dict):
        raise InputError(
            f"{file} holds a {type(value).__name__}; wanted a tensor or a dict of them"
        )
    return memory_contents({str(name): to_numpy(array)[0] for name, array in value.items()})

"""Embeddings and prototypes that other programs have written: ``.npy .npz .parquet .safetensors .pt``.

Nothing that a file could smuggle in is run: NumPy files are read without pickle, torch files with
``weights_only=True``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_audio.errors import InputError
from prism_audio.io.arrays import as_rows, to_numpy
from prism_audio.io.types import Float

# What the matrix may be called in a file that holds several arrays.
NAMES = {
    "embeddings": ("embeddings", "embedding", "E", "X"),
    "prototypes": ("prototypes", "prototype", "T", "text"),
}
LABELS = ("labels", "label", "classes", "names")


@dataclass(frozen=True)
class Matrix:
    """Rows (n, d) from a file, and the names that the file gives them, if it gives any."""

    rows: Float
    labels: tuple[str, ...] = ()


def is_matrix_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is of a kind that :func:`read_matrix` reads, by its suffix."""
    return Path(path).suffix.lower() in _READERS


def read_matrix(path: str | os.PathLike[str], what: str = "embeddings") -> Matrix:
    """Rows (n, d) of ``what`` ("embeddings" or "prototypes") from a file.

    A file with one matrix in it may call it anything; one with several must name it, for example
    ``embeddings``. An array of strings named ``labels`` gives the rows names.

    Raises
    ------
    InputError
        With the file, what was found in it and what was wanted.
    """
    file = Path(path)
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise InputError(f"{file}: {what} come in {', '.join(_READERS)} files")
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    try:
        arrays = read(file)
    except InputError:
        raise
    except Exception as error:  # every format has its own kinds of damage
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "pickle" in reason or "weights_only" in str(error):
            reason = "it is damaged, or holds Python objects, which are never loaded; save numbers"
        raise InputError(f"cannot read {what} from {file}: {reason}") from None
    name = _choose(arrays, what, file)
    rows, _ = as_rows(arrays[name], f"{what} in {file}")
    named = [arrays[key] for key in LABELS if key in arrays and _is_text(arrays[key])]
    labels = tuple(map(str, named[0])) if named and len(named[0]) == len(rows) else ()
    return Matrix(rows, labels)


def _choose(arrays: dict[str, Any], what: str, file: Path) -> str:
    for name in NAMES[what]:
        if name in arrays:
            return name
    matrices = [name for name, array in arrays.items() if np.ndim(array) == 2]
    if len(matrices) == 1:
        return matrices[0]
    found = ", ".join(f"{name} {np.shape(array)}" for name, array in arrays.items()) or "nothing"
    raise InputError(f"{file} holds {found}; call the matrix (rows, dimensions) {what!r}")


def _is_text(array: Any) -> bool:
    cells = np.asarray(array)
    return cells.ndim == 1 and cells.size > 0 and all(isinstance(cell, str) for cell in cells)


def _npy(file: Path) -> dict[str, Any]:
    return {"": np.load(file, allow_pickle=False)}


def _npz(file: Path) -> dict[str, Any]:
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def _safetensors(file: Path) -> dict[str, Any]:
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as found:
        arrays: dict[str, Any] = {name: found.get_tensor(name) for name in found.keys()}  # noqa: SIM118
        labels = (found.metadata() or {}).get("labels")
    if labels:
        arrays["labels"] = json.loads(labels)
    return arrays


def _torch(file: Path) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        raise InputError(
            f"{file}: .pt files need torch (pip install 'prism-audio[clap]'); "
            "or save the array as .npy"
        ) from None

    found = torch.load(file, map_location="cpu", weights_only=True)
    if isinstance(found, torch.Tensor):
        found = {"": found}
    if not isinstance(found, dict):
        raise InputError(
            f"{file} holds a {type(found).__name__}; wanted a tensor or a dict of them"
        )
    return {str(name): to_numpy(array)[0] for name, array in found.items()}


def parquet_reader(file: Path) -> tuple[Any, Any]:
    """pyarrow's modules ``parquet`` and ``types``, or an error that says how ``file`` can be read."""
    try:
        from pyarrow import parquet, types
    except ImportError:
        raise InputError(
            f"{file}: .parquet files need pyarrow (pip install 'prism-audio[bench]'); "
            "or save the array as .npy"
        ) from None
    return parquet, types


def _parquet(file: Path) -> dict[str, Any]:
    parquet, types = parquet_reader(file)

    table = parquet.read_table(file)
    arrays: dict[str, Any] = {}
    numbers: list[np.ndarray] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            arrays[name] = np.array(column.to_pylist(), kind.value_type.to_pandas_dtype())
        elif types.is_floating(kind):
            numbers.append(column.to_numpy())
        else:
            arrays[name] = column.to_pylist()
    if numbers:  # a column a dimension
        arrays.setdefault("embeddings", np.column_stack(numbers))
    return arrays


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
    ".safetensors": _safetensors,
    ".pt": _torch,
}

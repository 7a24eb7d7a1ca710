"""Open a file of arrays by its suffix, and choose the matrix that is wanted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prism_audio.errors import InputError
from prism_audio.io.arrays import as_rows
from prism_audio.io.matrices.npy import open_npy
from prism_audio.io.matrices.npz import open_npz
from prism_audio.io.matrices.parquet import open_parquet
from prism_audio.io.matrices.rows import FileContents, MemoryRows
from prism_audio.io.matrices.safetensors import open_safetensors
from prism_audio.io.matrices.table import RowTable
from prism_audio.io.matrices.torch import open_torch
from prism_audio.io.types import Float

FORMATS: dict[str, Callable[[Path], FileContents]] = {
    ".npy": open_npy,
    ".npz": open_npz,
    ".parquet": open_parquet,
    ".safetensors": open_safetensors,
    ".pt": open_torch,
}
# Those whose rows can be read without reading all of the file.
IN_CHUNKS = (".npy", ".safetensors", ".parquet")
# How many names of arrays a message lists.
_SHOWN = 10
# What the matrix may be called in a file that holds several arrays.
NAMES = {
    "embeddings": ("embeddings", "embedding", "E", "X"),
    "prototypes": ("prototypes", "prototype", "T", "text"),
}


@dataclass(frozen=True)
class Matrix:
    """Rows (n, d) from a file, and the names that the file gives them, if it gives any."""

    rows: Float
    labels: tuple[str, ...] = ()


def is_matrix_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is of a kind that :func:`read_matrix` reads, by its suffix."""
    return Path(path).suffix.lower() in FORMATS


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
    if not is_matrix_file(file):
        raise InputError(f"{file}: {what} come in {', '.join(FORMATS)} files")
    with _opened(file, what) as contents:
        reader = contents.arrays[_choose(contents, what, file)]
        array = reader.array if isinstance(reader, MemoryRows) else reader.read(0, reader.shape[0])
        labels = tuple(contents.read_labels())
    rows, _ = as_rows(array, f"{what} in {file}")
    named = len(labels) == len(rows) and all(isinstance(label, str) for label in labels)
    return Matrix(rows, labels if named else ())


def open_matrix(path: str | os.PathLike[str]) -> RowTable:
    """The embeddings in a ``.npy``, ``.safetensors`` or ``.parquet`` file, to be read in chunks."""
    file = Path(path)
    if file.suffix.lower() not in IN_CHUNKS:
        raise InputError(
            f"{file} cannot be read in chunks; wanted a store of 'prism embed', or one of "
            f"{', '.join(IN_CHUNKS)}"
        )
    with _opened(file, "embeddings") as contents:
        reader = contents.arrays[_choose(contents, "embeddings", file)]
        if isinstance(reader, MemoryRows) or len(reader.shape) != 2:
            by_columns = isinstance(reader, MemoryRows) and not reader.array.flags.c_contiguous
            raise InputError(
                f"{file} holds {reader.dtype} {reader.shape}{' by columns' if by_columns else ''}; "
                "wanted numbers (rows, dimensions), row by row"
            )
        return RowTable([reader], str(file))


@contextmanager
def _opened(file: Path, what: str) -> Iterator[FileContents]:
    """The contents of a file; whatever is wrong with it becomes an :class:`InputError`."""
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    try:
        yield FORMATS[file.suffix.lower()](file)
    except InputError:
        raise
    except Exception as error:  # every format has its own kinds of damage
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "pickle" in reason or "weights_only" in str(error):
            reason = "it is damaged, or holds Python objects, which are never loaded; save numbers"
        raise InputError(f"cannot read {what} from {file}: {reason}") from None


def _choose(contents: FileContents, what: str, file: Path) -> str:
    for name in NAMES[what]:
        if name in contents.arrays:
            return name
    if list(contents.arrays) == [""]:
        return ""
    matrices = [name for name, array in contents.arrays.items() if len(array.shape) == 2]
    if len(matrices) == 1:
        return matrices[0]
    names = [f"{name} {array.shape}" for name, array in contents.arrays.items()]
    names += contents.others
    holds = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "") or "nothing"
    raise InputError(f"{file} holds {holds}; call the matrix (rows, dimensions) {what!r}")

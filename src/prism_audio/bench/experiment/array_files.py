"""Array files of an experiment: embeddings, prototypes and labels that somebody made before.

A reference is ``file:key`` for an array of an .npz file, or the name of an .npy file; files are looked
for in the folder after ``--data``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError

# The level of noise of a condition that is an array: whatever it was made with.
GIVEN = "as given"


@dataclass(frozen=True)
class ArrayFiles:
    """References to the arrays of an experiment."""

    text: str  # prototypes T (C, d)
    labels: str  # the class y (N,) of every row, from 0 on
    # Embeddings E (N, d) by name. The part of a name before a colon is its space: the report
    # averages the conditions of each space.
    conditions: dict[str, str]
    # Names of the classes (C,); and for every row its fold, the recording it was cut from, and its
    # device (N,); empty where there are none.
    classes: str = ""
    folds: str = ""
    sources: str = ""
    groups: str = ""
    typical: tuple[str, ...] = ()  # the conditions of the other protocols; all, if empty
    # Rows ``clean`` (M, d) and the same clips under noise, by name, for the spectrum of the shift.
    pairs: dict[str, str] = field(default_factory=dict)


def space_of(condition: str) -> str:
    """The space of a condition: its name up to the colon."""
    return condition.partition(":")[0]


def read_array(folder: Path, reference: str) -> NDArray[Any]:
    """The array of a reference; an error names the file and what it holds."""
    name, _, key = reference.partition(":")
    path = folder / name
    try:
        arrays = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read as arrays (.npy or .npz): {error}") from error
    if isinstance(arrays, np.ndarray):
        return arrays
    with arrays:
        if key not in arrays.files:
            raise InputError(
                f"{path} has no array {key!r}; it has {', '.join(arrays.files)}: write 'file:key'"
            )
        return np.asarray(arrays[key])

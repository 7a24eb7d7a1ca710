"""Labels of rows as a person gives them: names or indices of classes, and marks for "not known"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.sphere import Labels
from prism_audio.io.arrays import to_numpy

UNLABELLED = -1


def class_indices(y: Any, N: int, names: Sequence[str]) -> Labels:
    """The classes (N,) of rows, -1 where a row has no label.

    ``y`` has N entries: indices of classes, or their ``names``. -1, None, NaN and "" say that a row is
    not labelled.
    """
    given = np.asarray(to_numpy(y)[0])
    if given.shape != (N,):
        raise InputError(
            f"y has shape {given.shape} for {N} rows; wanted one label for each, -1 where none is known"
        )
    if given.dtype.kind in "iu" or (given.dtype.kind == "f" and N):
        whole = np.where(np.isnan(given), UNLABELLED, given) if given.dtype.kind == "f" else given
        outside = (whole != np.round(whole)) | (whole < UNLABELLED) | (whole >= len(names))
        if outside.any():
            raise InputError(
                f"y holds {given[outside][0]}; wanted the index of one of the {len(names)} classes, "
                "or -1 where a row has no label"
            )
        return whole.astype(np.intp)
    index = {name: number for number, name in enumerate(names)}
    return np.array([_index(entry, index) for entry in given], dtype=np.intp)


def _index(entry: Any, index: dict[str, int]) -> int:
    if entry is None or entry == "" or entry != entry or str(entry) == str(UNLABELLED):
        return UNLABELLED
    if str(entry) not in index:
        names = ", ".join(list(index)[:8]) + (", ..." if len(index) > 8 else "")
        raise InputError(
            f"y holds the label {str(entry)!r}, which is not one of the classes ({names}); correct "
            "it, or write -1 where a row has no label"
        )
    return index[str(entry)]

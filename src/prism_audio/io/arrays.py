"""Check arrays of embeddings: kind, shape, type, finite numbers.

The result is a float32 or float64 NumPy array of two dimensions that may share memory with the
caller's, and a function that returns results in the caller's kind (NumPy or torch).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from prism_audio.errors import InputError, InputTypeError
from prism_audio.io.types import Float

Restore = Callable[[Any], Any]

_BLOCK_ROWS = 2048


def is_torch(X: Any) -> bool:
    """Whether ``X`` is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def to_numpy(X: Any) -> tuple[Any, Restore]:
    """``X`` as something NumPy reads, and a function that turns results into the kind of ``X``."""
    if not is_torch(X):
        return X, lambda result: result
    torch = sys.modules["torch"]
    if X.device.type != "cpu":
        raise InputError(f"the tensor is on {X.device}; PRISM works on the CPU: pass tensor.cpu()")
    X = X.detach()
    if X.dtype == torch.bfloat16:  # NumPy has no such type
        X = X.float()
    return X.numpy(), lambda result: torch.from_numpy(np.ascontiguousarray(result))


def as_rows(X: Any, name: str = "X", width: int | None = None) -> tuple[Float, Restore]:
    """Finite rows (n, d), and the function for results; see :func:`as_matrix`."""
    A, restore = as_matrix(X, name, width)
    refuse_non_finite(A, name)
    return A, restore


def as_matrix(X: Any, name: str, width: int | None) -> tuple[Float, Restore]:
    """Rows (n, d) of a checked kind, type and width, and the function for results.

    float16 becomes float32, integers become float64.
    """
    X, restore = to_numpy(X)
    if hasattr(X, "tocsr"):
        raise InputError(f"{name} is a sparse matrix; embeddings are dense: pass {name}.toarray()")
    try:
        A = np.asarray(X)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be read as an array of numbers: {error}") from None
    if A.dtype == object:
        A = _numbers_from_objects(A, name)
    if np.iscomplexobj(A):
        raise InputError(f"Complex data not supported: {name} has type {A.dtype}")
    if A.dtype.kind not in "fiub":
        raise InputError(f"{name} has type {A.dtype}; wanted numbers (float32 is best)")
    if A.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {A.ndim}D array instead: {name} has shape {A.shape}, wanted "
            f"(rows, dimensions). Reshape your data: one row is {name}.reshape(1, -1)"
        )
    if A.shape[0] == 0 or A.shape[1] == 0:
        axis, least = (("sample(s)", 0), ("feature(s)", 1))[A.shape[0] != 0]
        raise InputError(
            f"Found array with 0 {axis} (shape={A.shape}) while a minimum of 1 is required: "
            f"{name} is empty along axis {least}"
        )
    if width is not None and A.shape[1] != width:
        raise InputError(
            f"{name} has {A.shape[1]} dimensions, wanted {width}; embed both with the same encoder"
        )
    if A.dtype not in (np.float32, np.float64):
        A = A.astype(np.float32 if A.dtype == np.float16 else np.float64)
    return A, restore


def regrouped(arrays: Iterable[Float], rows: int) -> Iterator[Float]:
    """The same rows in arrays of ``rows`` rows, the last one perhaps shorter."""
    parts: list[Float] = []
    waiting = 0
    for array in arrays:
        while waiting + len(array) >= rows:
            needed = rows - waiting
            yield np.concatenate([*parts, array[:needed]]) if parts else array[:needed]
            parts, waiting, array = [], 0, array[needed:]
        if len(array):
            parts, waiting = [*parts, array], waiting + len(array)
    if parts:
        yield np.concatenate(parts)


def refuse_non_finite(A: Float, name: str) -> None:
    """Raise an :class:`InputError` that names the rows of ``A`` with NaN or infinity."""
    bad: list[int] = []
    for start in range(0, len(A), _BLOCK_ROWS):  # so that the mask stays small
        finite = np.isfinite(A[start : start + _BLOCK_ROWS])
        if not finite.all():
            bad.extend((np.flatnonzero(~finite.all(axis=1)) + start).tolist())
    if bad:
        shown = ", ".join(map(str, bad[:10])) + (", ..." if len(bad) > 10 else "")
        count = "1 row" if len(bad) == 1 else f"{len(bad)} rows"
        raise InputError(
            f"{name} contains NaN or infinity in {count}: {shown}; leave these out or embed anew"
        )


def _numbers_from_objects(A: np.ndarray, name: str) -> np.ndarray:
    try:
        return A.astype(np.float64)
    except TypeError as error:
        raise InputTypeError(f"{name} holds cells that are no numbers: {error}") from None
    except ValueError as error:
        raise InputError(f"{name} cannot be read as rows of numbers: {error}") from None

"""Matrix products and blocks of rows, by NumPy, whose products let other threads run meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.geometry.threads import side_by_side

Float = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

BLOCK_ROWS = 1024
# Multiplications from which a product is worth several threads, and the rows of one block of it.
LARGE, PART_ROWS = 2**24, 256


def row_blocks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)`` in order: temporaries stay small, whatever N."""
    for start in range(0, n, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n))


def product(A: NDArray[Any], B: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """A B in the type of ``A``, into ``out`` if given; a large one in blocks of rows, side by side."""
    B = B.astype(A.dtype, copy=False)
    if A.size * B.shape[1] < LARGE:
        return np.matmul(A, B, out=out)
    whole = np.empty((len(A), B.shape[1]), A.dtype) if out is None else out
    # The same blocks on any number of threads: rounding does not depend on it.
    blocks = (slice(start, start + PART_ROWS) for start in range(0, len(A), PART_ROWS))
    for _ in side_by_side(lambda rows: np.matmul(A[rows], B, out=whole[rows]), blocks):
        pass
    return whole


def add_product(out: Float, A: Float, B: Float, factor: float = 1.0) -> Float:
    """out <- out + factor A B, in place."""
    added = product(A.astype(out.dtype, copy=False), B)
    if factor != 1:
        added *= factor
    out += added
    return out


def gram(A: Float) -> Float:
    """A^T A; NumPy sees the symmetry and does half the work."""
    A = np.ascontiguousarray(A)
    return np.asarray(A.T @ A)


def inner(A: Float, B: Float) -> float:
    """Sum of the products of all entries."""
    return float(np.einsum("ij,ij->", A, B))


def length(A: Float64) -> float:
    """The Frobenius norm."""
    return float(np.sqrt(inner(A, A)))

"""Matrix products for long row-major matrices: in place, in float64 where they are sums over rows.

SciPy's BLAS is used where it saves a temporary: out <- out + f A B in one call. BLAS is column-major;
a transposed view of a row-major matrix is the same memory, and (A B)^T = B^T A^T.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

Float = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

BLOCK_ROWS = 4096


def row_blocks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)`` in order: temporaries stay small, whatever N."""
    for start in range(0, n, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n))


def add_product(out: Float, A: Float, B: Float, factor: float = 1.0) -> None:
    """out <- out + factor A B, in place; all three row-major and of one type."""
    gemm = blas.sgemm if out.dtype == np.float32 else blas.dgemm
    result = gemm(factor, B.T, A.T, beta=1.0, c=out.T, overwrite_c=1)
    if result.base is not out and not np.shares_memory(result, out):
        out[...] = result.T  # some argument was not row-major, so BLAS worked on a copy


def sum_of_products(A: Float, B: Float) -> Float64:
    """A^T B over all rows, carried from block to block in float64."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for rows in row_blocks(len(A)):
        total += A[rows].T @ B[rows]
    return total


def gram(A: Float) -> Float64:
    """A^T A over all rows, carried from block to block in float64."""
    total = np.zeros((A.shape[1], A.shape[1]))
    for rows in row_blocks(len(A)):
        block = A[rows]
        total += block.T @ block
    return total

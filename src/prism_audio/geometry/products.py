"""Matrix products for long row-major matrices: on one pool of threads, in place where it helps.

NumPy and SciPy each bring a BLAS with threads of its own, and the idle threads of one spin for a while
and take the cores from the other. The factorisations we need are SciPy's, so the products go there
too. BLAS is column-major; a transposed view of a row-major matrix is the same memory, and
(A B)^T = B^T A^T.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

Float = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

BLOCK_ROWS = 2048


def row_blocks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)`` in order: temporaries stay small, whatever N."""
    for start in range(0, n, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n))


def product(A: NDArray[Any], B: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """A B, into the row-major ``out`` if given."""
    if out is None:
        out = np.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    return _gemm(1.0, A, B, 0.0, out)


def add_product(out: Float, A: Float, B: Float, factor: float = 1.0) -> Float:
    """out <- out + factor A B, in place."""
    return _gemm(factor, A, B, 1.0, out)


def gram(A: Float) -> Float:
    """The upper triangle of A^T A: half the work of a product."""
    if not len(A):  # BLAS knows no empty matrices
        return np.zeros((A.shape[1], A.shape[1]), A.dtype, order="F")
    syrk = blas.ssyrk if A.dtype == np.float32 else blas.dsyrk
    triangle: Float = syrk(1.0, np.ascontiguousarray(A).T)
    return triangle


def symmetric_product(triangle: Float, B: Float) -> Float:
    """S B for the symmetric S of which :func:`gram` gave ``triangle``, without mirroring it."""
    symm = blas.ssymm if B.dtype == np.float32 else blas.dsymm
    # (S B)^T = B^T S, which is column-major as it stands.
    transposed: Float = symm(1.0, triangle.astype(B.dtype, copy=False), B.T, side=1)
    return transposed.T


def symmetric(triangle: Float64) -> Float64:
    """The symmetric matrix of which ``triangle`` holds one triangle and zeros."""
    whole = triangle + triangle.T
    whole.flat[:: len(whole) + 1] *= 0.5
    return np.ascontiguousarray(whole)


def inner(A: Float, B: Float) -> float:
    """Sum of the products of all entries."""
    return float(np.einsum("ij,ij->", A, B))


def length(A: Float64) -> float:
    """The Frobenius norm; the library's goes to NumPy's BLAS."""
    return float(np.sqrt(inner(A, A)))


def _gemm(factor: float, A: Float, B: Float, beta: float, out: Float) -> Float:
    if A.shape[1] == 0 or out.size == 0:  # BLAS knows no empty matrices
        if beta == 0:
            out[...] = 0
        return out
    gemm = blas.sgemm if out.dtype == np.float32 else blas.dgemm
    a, trans_a = _column_major(B)
    b, trans_b = _column_major(A)
    result = gemm(factor, a, b, beta, out.T, trans_a=trans_a, trans_b=trans_b, overwrite_c=1)
    if result.base is not out and not np.may_share_memory(result, out):
        out[...] = result.T  # ``out`` was not row-major, so BLAS filled a copy
    return out


def _column_major(X: Float) -> tuple[Float, int]:
    """X^T as BLAS takes it without a copy: a column-major array, and whether to transpose it."""
    return (X, 1) if X.flags.f_contiguous and not X.flags.c_contiguous else (X.T, 0)

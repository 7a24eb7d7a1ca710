"""Affine Bias Regression (ABR): the compilation of all corrections into one matrix.

    E~ = [E_n | 1],    W = argmin |E~ W - E_tgt|^2 + lambda |W - W_0|^2
                         = W_0 + (E~^T E~ + lambda I)^-1 E~^T (E_tgt - E~ W_0)

The paper shrinks to W_0 = 0, which erases from later clips every direction that the calibration
batch never showed. W_0 = [I; 0] keeps them as the encoder gave them. The Gram matrix is the same in
all rounds: it is factored once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.geometry.products import (
    Float,
    Float64,
    gram,
    inner,
    product,
    row_blocks,
)
from prism_audio.geometry.source import InMemory, RowSource, ScanResult
from prism_audio.geometry.sphere import normalise


def identity_map(d: int) -> Float64:
    """[I; 0], the affine map (d + 1, d) that changes nothing."""
    return np.eye(d + 1, d)


@dataclass(frozen=True)
class Ridge:
    """G = E~^T E~, (G + lambda I)^-1 by one Cholesky factor, and its condition."""

    G: Float64
    inverse: Float64
    lam: float
    condition: float


def moments(source: RowSource, Y: Float) -> Float64:
    """E~^T Y for targets ``Y`` (N, m) that are an array, shape (d + 1, m)."""
    (X,) = source.scan(_cross, Y).sums
    return np.asarray(X)


def _cross(E: Float, Y: Float) -> ScanResult:
    return ScanResult(sums=(np.vstack([product(E.T, Y), Y.sum(axis=0)]),))


def second_moments(source: RowSource) -> Float64:
    """G = E~^T E~, shape (d + 1, d + 1)."""
    N, d = source.shape
    square, sums = source.scan(_gram).sums
    G = np.empty((d + 1, d + 1))
    G[:d, :d] = square
    G[d, :d] = G[:d, d] = sums
    G[d, d] = N
    return G


def factor_ridge(G: Float64, lam: float) -> Ridge:
    """The inverse of the ridge on the moments ``G`` = E~^T E~, with its condition number in the 1-norm.

    The factor is kept as an inverse because every round multiplies with it: in float64 and with
    lambda > 0 that loses nothing, and a product is several times faster than two triangular solves.
    """
    from scipy import (
        linalg,  # takes a fifth of a second, which who only applies a map need not wait
    )

    A = G.copy(order="F")
    A.flat[:: len(A) + 1] += lam
    norm = np.abs(A).sum(axis=0).max()
    factor = linalg.cholesky(A, overwrite_a=True, check_finite=False)
    triangle, _ = linalg.lapack.dpotri(factor, overwrite_c=1)
    inverse = triangle + triangle.T  # the other triangle is zero
    inverse.flat[:: len(inverse) + 1] /= 2
    return Ridge(G, inverse, lam, float(norm * np.abs(inverse).sum(axis=0).max()))


def _gram(E: Float) -> ScanResult:
    return ScanResult(sums=(gram(E), E.sum(axis=0)))


def solve_ridge(ridge: Ridge, X: Float64, W_0: Float64 | None = None) -> Float64:
    """W for the cross moments ``X`` = E~^T E_tgt, shrunk towards ``W_0``, or to nothing."""
    # The same as W_0 + inverse (X - G W_0), with one product less.
    return product(ridge.inverse, X if W_0 is None else X + ridge.lam * W_0)


def residual(
    ridge: Ridge, X: Float64, W: Float64, W_0: Float64 | None, target_square: float
) -> float:
    """|E~ W - E_tgt|^2 from moments alone; ``target_square`` is |E_tgt|^2.

    W solves (G + lambda I) W = X + lambda W_0, so W^T G W needs no product with G.
    """
    centre = 0.0 if W_0 is None else inner(W, W_0)
    return max(target_square - inner(W, X) + ridge.lam * (centre - inner(W, W)), 0.0)


def apply_map(E: Float, W: Float, out: Float | None = None) -> Float:
    """normalize([E | 1] W): what a compiled correction does to unit rows ``E``."""
    d = E.shape[1]
    W_lin, b = W[:d].astype(E.dtype), W[d].astype(E.dtype)
    out = np.empty_like(E) if out is None else out
    for rows in row_blocks(len(E)):
        block = out[rows]
        product(E[rows], W_lin, out=block)
        block += b
        normalise(block, out=block)
    return out


def abr(E: Float, E_tgt: Float, *, lam: float = 0.01, W_0: Float64 | None = None) -> Float64:
    """The affine map W (d + 1, d) that takes unit rows ``E`` to their targets ``E_tgt``."""
    source = InMemory(E)
    return solve_ridge(factor_ridge(second_moments(source), lam), moments(source, E_tgt), W_0)

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
from scipy import linalg
from scipy.linalg import lapack

from prism_audio.geometry.products import (
    Float,
    Float64,
    column_sums,
    gram,
    inner,
    product,
    row_blocks,
    sum_of_products,
    symmetric,
)
from prism_audio.geometry.sphere import normalise


def identity_map(d: int) -> Float64:
    """[I; 0], the affine map (d + 1, d) that changes nothing."""
    return np.eye(d + 1, d)


@dataclass(frozen=True)
class Ridge:
    """G = E~^T E~, the inverse of G + lambda I by one Cholesky factorisation, and its condition."""

    G: Float64
    inverse: Float64
    lam: float
    condition: float


def moments(E: Float, Y: Float) -> Float64:
    """E~^T Y, shape (d + 1, width of Y)."""
    return np.vstack([sum_of_products(E, Y), column_sums(Y)])


def factor_ridge(E: Float, lam: float) -> Ridge:
    """Gram matrix of [E | 1] and the inverse of its ridge, with the condition number in the 1-norm.

    The factor is kept as an inverse because every round multiplies with it: in float64 and with
    lambda > 0 that loses nothing, and a product is several times faster than two triangular solves.
    """
    N, d = E.shape
    G = np.empty((d + 1, d + 1))
    G[:d, :d] = gram((E[rows] for rows in row_blocks(N)), d)
    G[d, :d] = G[:d, d] = column_sums(E)
    G[d, d] = N
    A = G + lam * np.eye(d + 1)
    factor = linalg.cholesky(A, lower=True, check_finite=False)
    inverse, _ = lapack.dpotri(factor, lower=1)
    inverse = symmetric(inverse)
    return Ridge(
        G, inverse, lam, float(np.abs(A).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max())
    )


def solve_ridge(ridge: Ridge, X: Float64, W_0: Float64) -> Float64:
    """W for the cross moments ``X`` = E~^T E_tgt, shrunk towards ``W_0``."""
    # The same as W_0 + inverse (X - G W_0), with one product less.
    return product(ridge.inverse, X + ridge.lam * W_0)


def residual(ridge: Ridge, X: Float64, W: Float64, W_0: Float64, target_square: float) -> float:
    """|E~ W - E_tgt|^2 from moments alone; ``target_square`` is |E_tgt|^2.

    W solves (G + lambda I) W = X + lambda W_0, so W^T G W needs no product with G.
    """
    return max(target_square - inner(W, X) + ridge.lam * (inner(W, W_0) - inner(W, W)), 0.0)


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
    d = E.shape[1]
    return solve_ridge(
        factor_ridge(E, lam), moments(E, E_tgt), np.zeros((d + 1, d)) if W_0 is None else W_0
    )

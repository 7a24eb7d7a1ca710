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

from prism_audio.geometry.sphere import Float, Float64, normalise, row_blocks


def identity_map(d: int) -> Float64:
    """[I; 0], the affine map (d + 1, d) that changes nothing."""
    return np.eye(d + 1, d)


@dataclass(frozen=True)
class Ridge:
    """G = E~^T E~ and the Cholesky factor of G + lambda I."""

    G: Float64
    factor: Float64
    lam: float
    condition: float


def moments(E: Float, Y: Float) -> Float64:
    """E~^T Y, shape (d + 1, width of Y)."""
    d = E.shape[1]
    X = np.zeros((d + 1, Y.shape[1]))
    for rows in row_blocks(len(E)):
        X[:d] += E[rows].T @ Y[rows]
        X[d] += Y[rows].sum(axis=0, dtype=np.float64)
    return X


def factor_ridge(E: Float, lam: float) -> Ridge:
    """Gram matrix of [E | 1], its factor and the condition number (1-norm estimate) of the ridge."""
    N, d = E.shape
    G = np.empty((d + 1, d + 1))
    G[:, :d] = moments(E, E)
    G[:d, d] = G[d, :d]
    G[d, d] = N
    A = G + lam * np.eye(d + 1)
    factor = linalg.cholesky(A, lower=True, overwrite_a=False, check_finite=False)
    rcond, _ = lapack.dpocon(factor, linalg.norm(A, 1), uplo="L")
    return Ridge(G, factor, lam, 1 / max(float(rcond), np.finfo(float).tiny))


def solve_ridge(ridge: Ridge, X: Float64, W_0: Float64) -> Float64:
    """W for the cross moments ``X`` = E~^T E_tgt, shrunk towards ``W_0``."""
    Y = X - ridge.G @ W_0 if W_0.any() else X
    return np.asarray(W_0 + linalg.cho_solve((ridge.factor, True), Y, check_finite=False))


def residual(ridge: Ridge, X: Float64, W: Float64, W_0: Float64, target_square: float) -> float:
    """|E~ W - E_tgt|^2 from moments alone; ``target_square`` is |E_tgt|^2.

    W solves (G + lambda I) W = X + lambda W_0, so G W needs no product.
    """
    GW = X + ridge.lam * (W_0 - W)
    return max(float(target_square - 2 * np.vdot(W, X) + np.vdot(W, GW)), 0.0)


def apply_map(E: Float, W: Float64, out: Float | None = None) -> Float:
    """normalize([E | 1] W): what a compiled correction does to unit rows ``E``."""
    d = E.shape[1]
    W_lin, b = W[:d].astype(E.dtype), W[d].astype(E.dtype)
    out = np.empty_like(E) if out is None else out
    for rows in row_blocks(len(E)):
        block = out[rows]
        np.matmul(E[rows], W_lin, out=block)
        block += b
        normalise(block, out=block)
    return out


def abr(E: Float, E_tgt: Float, *, lam: float = 0.01, W_0: Float64 | None = None) -> Float64:
    """The affine map W (d + 1, d) that takes unit rows ``E`` to their targets ``E_tgt``."""
    d = E.shape[1]
    return solve_ridge(
        factor_ridge(E, lam), moments(E, E_tgt), np.zeros((d + 1, d)) if W_0 is None else W_0
    )

"""Rows on the unit sphere: normalising, pseudo-labels, confidence gates, class sums.

    y_i = argmax_c <e_i, t_c>,   kappa_i = max_c <e_i, t_c>            (paper, Eq. pseudo)
    gate_i = [kappa_i >= Q_(1-p)(kappa)]                               (the top-p fraction)

Long matrices are walked in blocks of rows: a temporary then stays in the cache, memory does not grow
with N, and sums of float32 rows are carried over the blocks in float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_audio.geometry.products import Float, Float64, product, row_blocks

Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]


def row_norms(X: Float) -> Float:
    """|x_i| for every row, shape (N,)."""
    norms: Float = np.sqrt(np.einsum("ij,ij->i", X, X))
    return norms


def normalise(X: Float, out: Float | None = None) -> Float:
    """x_i / |x_i| for every row; a zero row has no direction and stays zero.

    ``out`` may be ``X`` itself.
    """
    norms = row_norms(X)
    norms[norms == 0] = 1
    np.reciprocal(norms, out=norms)
    result: Float = np.multiply(X, norms[:, None], out=out)
    return result


def unit_rows(X: Float) -> Float:
    """Finite ``X`` with unit rows, row-major; ``X`` itself if it is that already. To be read only.

    Rows of unit length to rounding are kept bit for bit, so that normalising twice changes nothing.
    Rows whose squares do not fit the float type are scaled by their largest entry first, so that
    finite rows always give finite unit rows.
    """
    kind = np.finfo(X.dtype)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", X, X)
    extreme = ~((squares > kind.tiny * 1e8) & (squares < kind.max / 1e8))
    if extreme.any():
        peak = np.abs(X[extreme]).max(axis=1, keepdims=True)
        X = X.copy()
        X[extreme] /= np.where(peak > 0, peak, 1)
        squares = np.einsum("ij,ij->i", X, X)
    norms = np.sqrt(squares)
    norms[(norms == 0) | (np.abs(norms - 1) <= 32 * kind.eps)] = 1
    return np.ascontiguousarray(X if (norms == 1).all() else X / norms[:, None])


def best(L: Float) -> tuple[Labels, Float]:
    """argmax and max over the columns of ``L`` (n, C)."""
    y = L.argmax(axis=1)
    return y, np.take_along_axis(L, y[:, None], axis=1)[:, 0]


def assign(E: Float, T: Float) -> tuple[Labels, Float]:
    """Pseudo-labels and confidences: argmax and max over c of <e_i, t_c>."""
    N = len(E)
    y = np.empty(N, dtype=np.intp)
    kappa = np.empty(N, dtype=E.dtype)
    for rows in row_blocks(N):
        y[rows], kappa[rows] = best(product(E[rows], T.T))
    return y, kappa


def assign_folded(E: Float, head: Float64) -> Labels:
    """argmax_c of [e_i | 1] head for unit rows ``E`` and a folded head (d + 1, C)."""
    A, b = head[:-1].astype(E.dtype), head[-1].astype(E.dtype)
    y = np.empty(len(E), dtype=np.intp)
    for rows in row_blocks(len(E)):
        L = product(E[rows], A)
        L += b
        L.argmax(axis=1, out=y[rows])
    return y


def gate(kappa: Float, keep: float) -> tuple[Mask, float]:
    """The confident set {i : kappa_i >= tau} and tau, the (1 - keep) quantile of the confidences."""
    tau = float(np.quantile(kappa, 1 - keep))
    return kappa >= tau, tau


def class_sums(E: Float, y: Labels, C: int, weights: Float) -> Float:
    """Sum of w_i e_i over the members of every class, shape (C, d)."""
    from scipy import sparse

    members = sparse.csc_array((weights, y, np.arange(len(E) + 1)), shape=(C, len(E)))
    sums: Float = members @ E
    return sums


def class_means(E: Float, y: Labels, C: int, weights: Float) -> tuple[Float64, Float64]:
    """Weighted mean of every class (zero where it has no weight) and the classes' total weights."""
    sums = np.zeros((C, E.shape[1]))
    for rows in row_blocks(len(E)):
        sums += class_sums(E[rows], y[rows], C, weights[rows])
    totals: Float64 = np.bincount(y, weights=weights, minlength=C).astype(np.float64)
    return sums / np.where(totals > 0, totals, 1)[:, None], totals

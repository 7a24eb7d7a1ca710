"""Soft deflation: whitening by the shrunk within-class scatter.

    E_soft  = normalize(E' (S_W + rho sqrt(delta) tr(S_W)/d I)^(-1/2))
    delta   = (tr(S_W^2) + tr(S_W)^2) / (n (tr(S_W^2) - tr(S_W)^2 / d)),  at most 1

CCVD deletes K directions and keeps the others whole. That is the limit of a gain that falls with the
noise in a direction, as a Wiener filter's does: here every direction is scaled by one over the
standard deviation within classes, with a floor under which directions count as equally quiet. It needs
no K. Not in the paper.

The floor comes from the data. delta is the squared error that a scatter of n independent rows has for
normal ones, in units of how far its eigenvalues scatter: the intensity of Ledoit and Wolf. Differences
below ``rho`` = 2 standard errors count as none; many rows, or noise in few directions, lower the floor.
"""

from __future__ import annotations

import numpy as np

from prism_audio.geometry.products import Float, inner, product
from prism_audio.geometry.rows import Labelled, Rows, measured


def standard_error(S_W: Float, n: float) -> float:
    """sqrt(delta) for the scatter of rows with ``n`` degrees of freedom."""
    return relative_error(float(np.trace(S_W)), inner(S_W, S_W), len(S_W), n)


def relative_error(trace: float, square: float, d: int, n: float) -> float:
    """sqrt(delta) from tr(S_W), tr(S_W^2), the width ``d`` and ``n`` degrees of freedom; at most 1."""
    dispersion = square - trace**2 / d
    if n * dispersion <= square + trace**2:
        return 1.0
    return float(np.sqrt((square + trace**2) / (n * dispersion)))


def soft_gain(S_W: Float, n: float, rho: float) -> Float:
    """The symmetric gain (S_W + floor I)^(-1/2), scaled to a largest eigenvalue of one.

    Without scatter (every class has one member) there is nothing to weigh, and it is the identity.
    """
    d = len(S_W)
    floor = rho * standard_error(S_W, n) * np.trace(S_W) / d
    if not floor > 0:
        return np.eye(d)
    values, vectors = np.linalg.eigh(S_W)
    gain = np.sqrt(floor / (np.maximum(values, 0) + floor))
    return product(vectors * gain, vectors.T)


def weigh(X: Rows, gain: Float, T: Float) -> Labelled:
    """normalize(E' gain)."""
    matrix = gain.astype(X.source.dtype)
    return measured(Rows(X.source, product(X.A, matrix), product(X.B, matrix), X.U, X.g), T)

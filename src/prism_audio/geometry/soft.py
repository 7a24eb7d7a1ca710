"""Soft deflation: whitening by the shrunk within-class scatter.

    E_soft = normalize(E' (S_W + rho tr(S_W)/d I)^(-1/2))

CCVD deletes K directions and keeps the others whole. That is the limit of a gain that falls with the
noise in a direction, as a Wiener filter's does: here every direction is scaled by one over the
standard deviation within classes, with a floor ``rho`` (in units of the mean variance) under which
directions count as equally quiet. It needs no K. Not in the paper.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from prism_audio.geometry.ccvd import find_scatter
from prism_audio.geometry.products import Float, Float64, product
from prism_audio.geometry.rows import Labelled, Rows, formed, measured, original
from prism_audio.geometry.source import InMemory


def soft_gain(S_W: Float64, rho: float) -> Float64:
    """The symmetric gain (S_W + rho tr(S_W)/d I)^(-1/2), scaled to a largest eigenvalue of one.

    Without scatter (every class has one member) there is nothing to weigh, and it is the identity.
    """
    d = len(S_W)
    floor = rho * np.trace(S_W) / d
    if not floor > 0:
        return np.eye(d)
    values, vectors = linalg.eigh(S_W, driver="evd", check_finite=False)
    gain = np.sqrt(floor / (np.maximum(values, 0) + floor))
    return product(vectors * gain, vectors.T)


def weigh(X: Rows, gain: Float64, T: Float) -> Labelled:
    """normalize(E' gain)."""
    matrix = gain.astype(X.source.dtype)
    return measured(Rows(X.source, product(X.A, matrix), product(X.B, matrix), X.U, X.g), T)


def soft_deflation(E: Float, T: Float, *, rho: float = 1.0, q: float = 0.7) -> Float:
    """Copy of unit rows ``E`` (N, d) in which noisy directions count for less."""
    rows = original(InMemory(E), T)
    gain = soft_gain(find_scatter(rows, len(T), q).S_W, rho)
    return formed(weigh(rows.X, gain, T).X)

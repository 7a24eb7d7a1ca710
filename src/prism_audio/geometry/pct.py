"""Per-Class Residual Translation (PCT).

    y_i   = argmax_c <e_i, t_c>,     mu_c = mean of the e_i with y_i = c
    E_tgt = normalize(e_i + alpha (t_(y_i) - mu_(y_i)))

Every row moves by the same vector as all rows of its class: a part alpha of the way on which the
class mean would reach its prototype.
"""

from __future__ import annotations

import numpy as np

from prism_audio.geometry.products import Float, row_blocks
from prism_audio.geometry.sphere import assign, class_means, normalise


def translate(E: Float, T: Float, alpha: float) -> Float:
    """E_tgt = normalize(E + alpha (T[y] - mu[y])), in place."""
    y, _ = assign(E, T)
    mu, _ = class_means(E, y, len(T), np.ones(len(E), dtype=E.dtype))
    steps = (alpha * (T - mu)).astype(E.dtype)
    for rows in row_blocks(len(E)):
        block = E[rows]
        block += steps[y[rows]]
        normalise(block, out=block)
    return E


def pct(E: Float, T: Float, *, alpha: float = 0.3) -> Float:
    """Copy of unit rows ``E`` (N, d), each class moved towards its prototype in ``T`` (C, d)."""
    return translate(E.copy(), T, alpha)

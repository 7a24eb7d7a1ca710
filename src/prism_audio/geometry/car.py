"""Confidence-Aware Regression (CAR).

    kappa_c = mean over the rows predicted as c of their largest logit,   m = median of the kappa_c
    w_i     = sigmoid(gamma (m - kappa_(y_i)))
    target  = w_i e_i^noisy + (1 - w_i) e_i^PRISM

Broadband ("polyphonic") classes spread along the very directions that CCVD removes; after the
correction they are the ones of low confidence. CAR hands ABR a target for them that stays closer to
what the encoder said. It sits between PCT and ABR, and its targets are not normalised.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from prism_audio.geometry.products import Float, Float64, row_blocks
from prism_audio.geometry.sphere import assign


def class_confidence(kappa: Float, y: np.ndarray, C: int) -> tuple[Float64, np.ndarray]:
    """Mean of ``kappa`` over the rows of every class, and which classes occur."""
    n = np.bincount(y, minlength=C)
    sums = np.bincount(y, weights=kappa, minlength=C)
    return sums / np.maximum(n, 1), n > 0


def blend(E_tgt: Float, E_noisy: Float, T: Float, gamma: float) -> Float:
    """w E_noisy + (1 - w) E_tgt, in place of ``E_tgt``."""
    y, kappa = assign(E_tgt, T)
    confidence, occurs = class_confidence(kappa, y, len(T))
    m = np.median(confidence[occurs])
    w_class = expit(gamma * (m - confidence)).astype(E_tgt.dtype)
    for rows in row_blocks(len(E_tgt)):
        w = w_class[y[rows], None]
        block = E_tgt[rows]
        block += w * (E_noisy[rows] - block)
    return E_tgt


def car(E_noisy: Float, E_tgt: Float, T: Float, *, gamma: float = 10.0) -> Float:
    """Targets (N, d) for ABR between the noisy rows and the corrected ones."""
    return blend(E_tgt.copy(), E_noisy, T, gamma)

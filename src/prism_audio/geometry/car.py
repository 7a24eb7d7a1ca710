"""Confidence-Aware Regression (CAR).

    kappa_c = mean over the rows predicted as c of their largest logit,   m = median of the kappa_c
    w_i     = sigmoid(gamma (m - kappa_(y_i)))
    target  = w_i e_i^noisy + (1 - w_i) e_i^PRISM

Broadband ("polyphonic") classes spread along the very directions that CCVD removes; after the
correction they are the ones of low confidence. CAR hands ABR a target for them that stays closer to
what the encoder said. It sits between PCT and ABR, and its targets are not normalised.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from prism_audio.geometry.pct import Targets
from prism_audio.geometry.products import Float, Float64, gram, product
from prism_audio.geometry.rows import Head, dots
from prism_audio.geometry.source import ScanResult
from prism_audio.geometry.sphere import Labels, assign, best


def class_confidence(kappa: Float, y: np.ndarray, C: int) -> tuple[Float64, np.ndarray]:
    """Mean of ``kappa`` over the rows of every class, and which classes occur."""
    n = np.bincount(y, minlength=C)
    sums = np.bincount(y, weights=kappa, minlength=C)
    return sums / np.maximum(n, 1), n > 0


def class_weights(y: Labels, kappa: Float, C: int, gamma: float) -> Float64:
    """w of every class from the labels and confidences of the targets, (C,)."""
    from scipy.special import expit

    confidence, occurs = class_confidence(kappa, y, C)
    m = np.median(confidence[occurs])
    return np.asarray(expit(gamma * (m - confidence)))


def blended_moments(targets: Targets, T: Float, gamma: float) -> tuple[Float64, float]:
    """sum of [e_i | 1]^T target_i, (d + 1, d), and sum of |target_i|^2 over the blended targets."""
    source = targets.X.source
    head = targets.X.fold(T.T)
    steps = product(targets.steps, T.T.astype(np.float64))
    work = partial(_labels, head=head, steps=steps.astype(source.dtype))
    y, kappa = targets.X.scan(work, targets.y, targets.length).rows
    w = class_weights(y, kappa, len(T), gamma)[y].astype(source.dtype)
    noisy, total = source.scan(_moments, w).sums
    X = np.vstack([noisy, total]) + targets.moments(1 - w)
    # |w e + (1 - w) t|^2 of unit rows takes <e, t>, and the sum of those is a trace.
    both = np.trace(targets.moments(w * (1 - w))[:-1])
    return X, float(np.sum(w**2 + (1 - w) ** 2, dtype=np.float64) + 2 * both)


def _labels(
    E: Float, g: Float, U: Float, y: Labels, length: Float, *, head: Head, steps: Float
) -> ScanResult:
    y_tgt, kappa = best(dots(E, g, U, head) + steps[y])
    return ScanResult((y_tgt, kappa / length))


def _moments(E: Float, w: Float) -> ScanResult:
    root = np.sqrt(w)
    F = E * root[:, None]
    return ScanResult(sums=(gram(F), product(root[None], F)[0]))


def car(E_noisy: Float, E_tgt: Float, T: Float, *, gamma: float = 10.0) -> Float:
    """Targets (N, d) for ABR between the noisy rows and the corrected ones."""
    y, kappa = assign(E_tgt, T)
    w = class_weights(y, kappa, len(T), gamma)[y, None].astype(E_tgt.dtype)
    return np.asarray(w * E_noisy + (1 - w) * E_tgt)

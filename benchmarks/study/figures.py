"""Figures of probabilities and rejections: calibration error, and area under the ROC curve."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

BINS = 15


def auroc(sure: np.ndarray, strange: np.ndarray) -> float:
    """How often, in percent, a known clip convinces more than a foreign one."""
    n, m = len(sure), len(strange)
    ranks = rankdata(np.concatenate([sure, strange]))[:n]
    return 100 * float((ranks.sum() - n * (n + 1) / 2) / (n * m))


def calibration_error(P: np.ndarray, target: np.ndarray) -> tuple[float, list[list[float]]]:
    """Expected calibration error in percent; per bin the clips, their confidence and right answers."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == target
    number = np.minimum((BINS * sure).astype(int), BINS - 1)
    clips, summed, hits = (
        np.bincount(number, weights=w, minlength=BINS) for w in (np.ones(len(sure)), sure, right)
    )
    bins = np.stack([clips, summed, hits], axis=1)
    return 100 * float(np.abs(summed - hits).sum() / len(sure)), bins.round(4).tolist()

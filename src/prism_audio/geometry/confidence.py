"""Scores that mean something, without labels: a temperature, and a threshold for "unknown".

    temperature  tau = 1.25 sd sqrt(delta),     delta = (w n D + 20 * 0.2) / (w n + 20)
    threshold        = q_2 + w / 4 (m_1 - q_2)

sd is how far a row's cosines scatter over the classes (mean over the batch), D the part of the n rows
whose label the correction changes, w the guard's weight; over the batch, q_2 is the lower quartile of
the second best cosine and m_1 the median of the best.

*Temperature.* Cosines of one space scatter ten times as far as those of another, so sd is the unit.
The softmax is calibrated at fewer units where fewer labels are wrong, and how often zero-shot and the
corrected map disagree tells that: either is wrong about as often. A batch that carries no correction
(w near 0) says nothing, and one in five is assumed. The square root and the constants were measured.

*Threshold.* The second best class is mostly one that is not there, and the best of those that are not:
what a foreign sound scores. A clip whose best class stays below the lower quartile of that is unknown.
A correction sets apart what is there from what is not, which leaves room for a quarter of the way up.
Few known clips are lost so (one to four in a hundred); many foreign ones still pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64
from prism_audio.geometry.sphere import Labels

UNITS = 1.25
# What is assumed of the labels before a batch has spoken, and how many rows that counts for.
PRIOR_ERROR, PRIOR_ROWS = 0.2, 20.0
QUARTILE, STEP = 0.25, 0.25


class Confidence(NamedTuple):
    """How to read the cosines of an adapter.

    Attributes
    ----------
    temperature : float
        softmax(cosines / temperature) is the probability of each class.
    unknown_threshold : float, optional
        Below it the best cosine does not convince; None with one class, which has no rival.
    """

    temperature: float
    unknown_threshold: float | None


def confidence(scores: Float, y_0: Labels, weight: float = 1.0) -> Confidence:
    """Temperature and threshold for cosines ``scores`` (N, C) of a corrected batch.

    ``y_0`` (N,) are the zero-shot labels of its rows, ``weight`` how much of the correction is used.
    """
    N, C = scores.shape
    if C == 1:
        return Confidence(1.0, None)
    second, best = np.partition(scores, (C - 2, C - 1), axis=1)[:, -2:].T
    low, typical = np.quantile(second, QUARTILE), np.median(best)
    spread = float(scores.std(axis=1, dtype=np.float64).mean())
    changed = float(np.mean(scores.argmax(axis=1) != y_0))
    rows = weight * N
    error = (rows * changed + PRIOR_ROWS * PRIOR_ERROR) / (rows + PRIOR_ROWS)
    # Where all classes score alike every temperature gives the same probabilities.
    temperature = UNITS * spread * np.sqrt(error) if spread > 0 else 1.0
    return Confidence(float(temperature), float(low + STEP * weight * (typical - low)))


def probabilities(scores: Float, temperature: float) -> Float64:
    """softmax(scores / temperature) over the classes, (N, C)."""
    logits = scores.astype(np.float64) / temperature
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(P / P.sum(axis=1, keepdims=True))

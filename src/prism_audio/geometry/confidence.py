"""Scores that mean something, without labels: a temperature, and a threshold for "unknown".

    temperature  tau = 1.6 sd sqrt(delta),      delta = (w n D + 20 * 0.12) / (w n + 20)
    conviction   kappa = (1 - h) cos_1(y) + h cos_0(y),     h = sd / (sd + sd_0)
    threshold        = q_2 + w / 4 (m_1 - q_2)

cos_1 are a row's cosines after the correction, cos_0 those of zero-shot, y the answer: the best of
cos_1. sd and sd_0 are how far they scatter over the classes (mean over the batch), D the part of the n
rows whose label the correction changes, w the guard's weight; over the batch, q_2 is the lower quartile
of the conviction of the second best class and m_1 the median of that of the best.

*Temperature.* Cosines of one space scatter ten times as far as those of another, so sd is the unit.
The softmax is calibrated at fewer units where fewer labels are wrong, and how often zero-shot and the
corrected map disagree tells that: either is wrong about as often. A batch that carries no correction
(w near 0) says nothing, and one in eight is assumed. The square root and the constants were measured.

*Conviction.* A correction learnt from a batch with many foreign sounds moves those onto the classes
too, and its cosines then tell less of what is foreign than zero-shot's do. So both have a say in
whether the answer convinces, each in the unit of its own scatter. Without a correction it is the cosine.

*Threshold.* The second best class is mostly one that is not there, and the best of those that are not:
what a foreign sound scores. A clip whose best class stays below the lower quartile of that is unknown.
A correction sets apart what is there from what is not, which leaves room for a quarter of the way up.
Few known clips are lost so (one to four in a hundred); many foreign ones still pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64

UNITS = 1.6
# What is assumed of the labels before a batch has spoken, and how many rows that counts for.
PRIOR_ERROR, PRIOR_ROWS = 0.12, 20.0
QUARTILE, STEP = 0.25, 0.25


class Confidence(NamedTuple):
    """How to read the cosines of an adapter.

    Attributes
    ----------
    temperature : float
        softmax(cosines / temperature) is the probability of each class.
    zero_shot_share : float
        h, how much of the conviction is zero-shot's.
    unknown_threshold : float, optional
        Below it the conviction is too low; None with one class, which has no rival.
    """

    temperature: float
    zero_shot_share: float
    unknown_threshold: float | None


def confidence(scores: Float, zero_shot: Float, weight: float = 1.0) -> Confidence:
    """How to read cosines ``scores`` (N, C) of a corrected batch.

    ``zero_shot`` (N, C) are the cosines of its rows as they came, ``weight`` how much of the
    correction is used.
    """
    N, C = scores.shape
    if C == 1:
        return Confidence(1.0, 0.0, None)
    sd, sd_0 = (float(S.std(axis=1, dtype=np.float64).mean()) for S in (scores, zero_shot))
    changed = float(np.mean(scores.argmax(axis=1) != zero_shot.argmax(axis=1)))
    rows = weight * N
    error = (rows * changed + PRIOR_ROWS * PRIOR_ERROR) / (rows + PRIOR_ROWS)
    # Where all classes score alike every temperature gives the same probabilities.
    temperature = UNITS * sd * np.sqrt(error) if sd > 0 else 1.0
    share = sd / (sd + sd_0) if sd + sd_0 > 0 else 0.0
    second, best = conviction(scores, zero_shot, share, 2).T
    low, typical = np.quantile(second, QUARTILE), np.median(best)
    return Confidence(float(temperature), share, float(low + STEP * weight * (typical - low)))


def conviction(scores: Float, zero_shot: Float, share: float, best: int = 1) -> Float64:
    """(1 - share) cos_1 + share cos_0 of the ``best`` classes of every row, (N, best), best last."""
    top = np.argpartition(scores, range(-best, 0), axis=1)[:, -best:]
    now, then = (np.take_along_axis(S, top, axis=1).astype(np.float64) for S in (scores, zero_shot))
    return np.asarray((1 - share) * now + share * then)


def probabilities(scores: Float, temperature: float) -> Float64:
    """softmax(scores / temperature) over the classes, (N, C)."""
    logits = scores.astype(np.float64) / temperature
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(P / P.sum(axis=1, keepdims=True))

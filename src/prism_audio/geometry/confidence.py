"""Scores that mean something, without labels: a temperature, and a threshold for "unknown".

    temperature  tau = 0.11 l
    conviction   kappa = (1 - h) cos_1(y) + h cos_0(y),     h = l / (l + l_0)
    threshold        = q_2 + w / 4 (m_1 - q_2)

cos_1 are a row's cosines after the correction, cos_0 those of zero-shot, y the answer: the best of
cos_1. l and l_0 are the lengths of both, centred over the classes (mean over the batch), w the guard's
weight; over the batch, q_2 is the lower quartile of the conviction of the second best class and m_1 the
median of that of the best.

*Temperature.* Cosines of one space lie ten times as far apart as those of another, so l is the unit:
where one class is sure it is the distance to the others, however many they are. In that unit one
temperature serves lists of 3 to 50 classes and the five spaces that were looked at, clean and in noise,
before a correction and after. The soft assignments of the composition have their own, a little lower.

*Conviction.* A correction learnt from a batch with many foreign sounds moves those onto the classes
too, and its cosines then tell less of what is foreign than zero-shot's do. So both have a say in
whether the answer convinces, each in the unit of its own length. Without a correction it is the cosine.

*Threshold.* The second best class is mostly one that is not there, and the best of those that are not:
what a foreign sound scores. A clip whose best class stays below the lower quartile of that is unknown.
A correction sets apart what is there from what is not, which leaves room for a quarter of the way up.
Few known clips are lost so (one to four in a hundred); many foreign ones still pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64

UNITS = 0.11
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
    if scores.shape[1] == 1:
        return Confidence(1.0, 0.0, None)
    now, then = (
        np.sqrt(scores.shape[1]) * float(S.std(axis=1, dtype=np.float64).mean())
        for S in (scores, zero_shot)
    )
    # Where all classes score alike every temperature gives the same probabilities.
    temperature = UNITS * now if now > 0 else 1.0
    share = now / (now + then) if now + then > 0 else 0.0
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

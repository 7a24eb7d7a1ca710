"""Scores that mean something, without labels: a temperature, and a threshold for "unknown".

    temperature  tau = 0.08 l / k^3
    conviction   kappa = (1 - h) cos_1(y) + h cos_0(y),     h = l / (l + l_0)
    threshold        = min(m_2 + (m_1 - m_2) / 4,  m_1 - 2 (q_1 - m_1))

cos_1 are a row's cosines after the correction, cos_0 those of zero-shot, y the answer: the best of
cos_1. l and l_0 are the lengths of both, centred over the classes (mean over the batch). k is how far
two calibrations that started differently agree (:mod:`prism_audio.geometry.guard`). Over the batch,
m_1 and q_1 are the median and the upper quartile of the conviction of the best class, and m_2 is the
median of that of the second best.

*Temperature.* Cosines of one space lie ten times as far apart as those of another, so l is the unit.
0.08 is the temperature of the soft assignments. It is too sure where many answers are wrong, and k
tells where: two calibrations agree on what the clips decide, and differ on what they do not.

*Conviction.* A correction learnt from a batch with many foreign sounds moves those onto the classes
too. So cosines before and after both have a say, each in the unit of its own length.

*Threshold.* The second best class is mostly one that is not there, and the best of those: what a
foreign sound scores. A clip that stays below a fifth of the way from there to what answers usually
score is unknown, unless it is no further below the median than twice what the upper quartile is above
it: the upper half of the answers is of known sounds, and tells how far those scatter. Where nothing
was adapted there is no threshold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64

UNITS = 0.08
# A lower agreement tells that the labels are unsure, not how unsure they are.
LEAST_AGREEMENT = 0.6
# The agreement of a batch of which it is not known.
USUAL_AGREEMENT = 0.9
STEP, QUARTILES = 0.2, 2.0
# Cosines that differ by less were not changed.
UNCHANGED = 1e-6


class Confidence(NamedTuple):
    """How to read the cosines of an adapter.

    Attributes
    ----------
    temperature : float
        softmax(cosines / temperature) is the probability of each class.
    zero_shot_share : float
        h, how much of the conviction is zero-shot's.
    unknown_threshold : float, optional
        Below it the conviction is too low. None with one class, which has no rival, and where
        nothing was adapted.
    """

    temperature: float
    zero_shot_share: float
    unknown_threshold: float | None


def confidence(scores: Float, zero_shot: Float, agreement: float | None = None) -> Confidence:
    """How to read cosines ``scores`` (N, C) of a corrected batch.

    Parameters
    ----------
    scores, zero_shot : (N, C) arrays
        The cosines of its rows after the correction, and as they came.
    agreement : float, optional
        k; None where it is not known.

    Returns
    -------
    Confidence
        Without a threshold where the two are the same: nothing was adapted.
    """
    if scores.shape[1] == 1:
        return Confidence(1.0, 0.0, None)
    now, then = (
        np.sqrt(scores.shape[1]) * float(S.std(axis=1, dtype=np.float64).mean())
        for S in (scores, zero_shot)
    )
    k = max(USUAL_AGREEMENT if agreement is None else agreement, LEAST_AGREEMENT)
    # Where all classes score alike every temperature gives the same probabilities.
    temperature = UNITS / k**3 * now if now > 0 else 1.0
    share = now / (now + then) if now + then > 0 else 0.0
    if np.allclose(scores, zero_shot, atol=UNCHANGED):
        return Confidence(float(temperature), share, None)
    second, best = conviction(scores, zero_shot, share, 2).T
    m_2, m_1, q_1 = np.median(second), np.median(best), np.quantile(best, 0.75)
    threshold = min(m_2 + STEP * (m_1 - m_2), m_1 - QUARTILES * (q_1 - m_1))
    return Confidence(float(temperature), share, float(threshold))


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

"""How much better one answer is than another, from clips picked unequally: Tango's interval.

    D = f (alpha - beta)

The adapter and zero-shot differ only on the clips where their answers do, f of all clips. alpha is the
part of these on which only the adapter is right, beta that on which only zero-shot is. The interval is
Tango's (1998) score interval of paired proportions at the effective number of clips
(sum w)^2 / sum (1 - pi) w^2, w = 1 / pi.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from prism_audio.evaluation.clip_scores import Interval, Z
from prism_audio.evaluation.odds import root_of_falling
from prism_audio.io.types import Float64


class Difference(NamedTuple):
    """How much better one answer is than another.

    Attributes
    ----------
    interval : Interval
        The difference of their accuracies.
    confidence : float
        The probability that it is above 0, from a one-sided test.
    more : int or None
        Clips that are still to be listened to until the interval leaves 0 out, if the difference
        stays as it is: 0 where it does already, None where none was seen.
    """

    interval: Interval
    confidence: float
    more: int | None


def difference(part: float, gains: Float64, inclusion: Float64, n: int) -> Difference:
    """How much better the adapter is than zero-shot.

    Parameters
    ----------
    part : float
        The part of all clips on which they differ.
    gains : (k,) array
        Of the listened clips on which they differ: 1 where only the adapter is right, -1 where only
        zero-shot is, 0 where neither is.
    inclusion : (k,) array
        Their inclusion probabilities.
    n : int
        All clips that were listened to.
    """
    if part == 0:
        return Difference(Interval(0.0, 0.0, 0.0), 0.5, None)
    if len(gains) == 0:
        return Difference(Interval(0.0, -part, part), 0.5, None)
    w = 1 / inclusion
    alpha, beta = (float(w[gains == sign].sum() / w.sum()) for sign in (1, -1))
    size = w.sum() ** 2 / max(((1 - inclusion) * w**2).sum(), 1e-9)

    def excess(delta: float, deviations: float = 0.0) -> float:
        spread = np.sqrt(_tango(alpha, beta, delta) / size)
        return float(alpha - beta - delta - deviations * spread)

    low, high = (root_of_falling(excess, deviations, bound=1 - 1e-9) for deviations in (Z, -Z))
    seen = alpha + beta > 0
    score = (alpha - beta) / np.sqrt((alpha + beta) / size) if seen else 0.0
    more = None
    if score != 0:
        more = max(0, int(np.ceil(n * (Z / score) ** 2)) - n)
    value = alpha - beta
    # The search stops short of -1 and 1, where the difference itself may lie.
    ends = (value, min(low, value), max(high, value))
    return Difference(Interval(*(part * end for end in ends)), float(ndtr(score)), more)


def _tango(alpha: float, beta: float, delta: float) -> float:
    """n times the variance of alpha - beta where the true difference is ``delta``."""
    B = -alpha - beta + (2 - alpha + beta) * delta
    C = -beta * delta * (1 - delta)
    q = (np.sqrt(max(B * B - 8 * C, 0.0)) - B) / 4
    return float(max(2 * q + delta * (1 - delta), 0.0))

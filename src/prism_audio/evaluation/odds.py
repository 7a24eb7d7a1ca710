"""The odds that an answer is right: logistic regression of what a person heard on probabilities.

    P(right) = expit(c + b x),   x = logit(p)

p is the adapter's probability of its answer. With b = 1 and c = 0 it means what it says; b and c are
what few labels tell of a place. b maximises

    log likelihood + kappa log det I - (b - 1)^2 / (2 * 2^2),   kappa = 0.4,

I being the information of c and b, that of the last term included. Without the second term few clips
make b too steep, and infinite where they separate right from wrong (Firth 1993). It gives every clip
kappa h right and kappa h wrong answers more, h its leverage. Firth's kappa is 1/2, which makes b right
on the mean; 1/3 makes a single share right in the median (Kerman 2011). Between them the intervals of
:mod:`prism_audio.evaluation.sampling` hold nearest to what they say.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from prism_audio.io.types import Float64

# Probabilities are read up to here: beyond it a count of clips cannot tell them apart.
EDGE = 5e-3
KAPPA = 0.4
SLOPE, SLOPE_DEVIATION = 1.0, 2.0
STEPS, STEP_LIMIT, PRECISION = 100, 1.0, 1e-9
# Beyond these c every probability is 0 or 1.
FARTHEST = 25.0


def evidence(p: Float64) -> Float64:
    """x: the log odds of probabilities."""
    return np.asarray(logit(np.clip(p, EDGE, 1 - EDGE)))


def fit_slope(x: Float64, a: Float64) -> float:
    """b of the right answers ``a`` (n,), 0 or 1, on ``x`` (n,)."""
    X = np.column_stack([np.ones_like(x), x])
    prior, centre = np.diag([0.0, SLOPE_DEVIATION**-2]), np.array([0.0, SLOPE])
    theta = centre.copy()
    for _ in range(STEPS):
        m = expit(X @ theta)
        d = m * (1 - m)
        h = d * np.einsum("ni,ij,nj->n", X, np.linalg.pinv((X.T * d) @ X + prior), X)
        score = X.T @ (a - m + 2 * KAPPA * h * (0.5 - m)) - prior @ (theta - centre)
        step = np.linalg.pinv((X.T * (d * (1 + 2 * KAPPA * h))) @ X + prior) @ score
        longest = float(np.abs(step).max())
        theta += step * min(1.0, STEP_LIMIT / max(longest, PRECISION))
        if longest < PRECISION:
            break
    return float(theta[1])


def fit_shift(x: Float64, a: Float64, b: float, centre: float = 0.0) -> float:
    """c of the right answers ``a``, drawn to ``centre`` with a deviation of 1."""
    return root_of_falling(lambda c: float((a - expit(c + b * x)).sum() - (c - centre)))


def find_threshold(
    wanted: float, x: Float64, score: Float64, c: float, b: float
) -> tuple[float, float] | None:
    """The least score above which answers have the ``wanted`` precision, and the part that reach it.

    ``x`` and ``score`` (N,) are of the clips with one answer; None where no threshold suffices.
    """
    order = np.argsort(-score, kind="stable")
    precision = np.cumsum(expit(c + b * x[order])) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(precision >= wanted)
    if len(enough) == 0:
        return None
    return float(score[order[enough[-1]]]), float((enough[-1] + 1) / len(order))


def root_of_falling(f: Callable[..., float], *more: float, bound: float = FARTHEST) -> float:
    """Where a falling function ``f(c, *more)`` is 0, or the bound that is nearest to it."""
    if f(-bound, *more) <= 0:
        return -bound
    if f(bound, *more) >= 0:
        return bound
    return float(brentq(f, -bound, bound, args=more))

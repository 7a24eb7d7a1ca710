"""Accuracy from a few labels: weighted estimates with 95 % intervals for clips picked unequally.

    m_i(c) = expit(c + b x_i),   x_i = logit(p_i)             a clip's probability to be right
    A(c)   = mean of m_i(c) over all N clips                  accuracy, if c is true
    T(c)   = sum over listened clips of (a_i - m_i(c)) / pi_i
    V(c)   = phi n / (n - 1)  sum of (1 - pi_i) m_i(c) (1 - m_i(c)) / pi_i^2

a_i is 1 where the answer was right, p_i the adapter's probability of it, pi_i the probability with
which the clip was picked (:mod:`prism_audio.evaluation.picking`). The estimate is A(c) with T(c) = 0, a
difference estimator: what the adapter expects of all clips, corrected by the listened ones (Lehtonen
and Veijanen 1998). The interval is every A(c) with T(c)^2 <= z^2 V(c). With equal p_i and pi_i that is
Wilson's interval of a simple random sample; where p_i tells right from wrong it is narrower.

b is the slope that the labels prefer, drawn to 1 +- 0.35; 1 is that of a probability that means what it
says. phi is the part of the variance that is left because labels and scores
had their share of the pick: squared differences of residuals that are neighbours there, drawn to 1 by
15 clips. They tell as much as the effective number of clips, (sum v)^2 / sum v^2 with v the variances:
where a few doubtful clips make up most of the variance, a pick that met no surprise says little of it.

Adapted less zero-shot differ only on the clips where their answers do. Of these, with f their part of
all clips, D = f (alpha - beta), where alpha is the part on which only the adapter is right and beta
that on which only zero-shot is; the interval is Tango's (1998) score interval of paired proportions at
the effective number of clips (sum w)^2 / sum (1 - pi) w^2, w = 1 / pi.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri

from prism_audio.evaluation.clip_scores import LEVEL, Interval
from prism_audio.io.types import Float64

Z = float(ndtri((1 + LEVEL) / 2))
SLOPE, SLOPE_DEVIATION = 1.0, 0.35
DISPERSION_CLIPS = 15
# Probabilities are read up to here: beyond it a count of clips cannot tell them apart.
EDGE = 1e-2
# Beyond these c every m_i is 0 or 1.
FARTHEST = 25.0
# Cells into which the x_i of all clips are counted.
CELLS = 400


class Sample(NamedTuple):
    """Listened clips (n): the probability of their answer, whether it was right, and the picking.

    ``rank`` puts clips side by side that are alike: by label, then by score.
    """

    probability: Float64
    right: NDArray[np.bool_]
    inclusion: Float64
    rank: NDArray[np.intp]


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


def evidence(p: Float64) -> Float64:
    """x: the log odds of probabilities."""
    return np.asarray(logit(np.clip(p, EDGE, 1 - EDGE)))


def accuracy(every: Float64, sample: Sample, slope: float | None = None) -> Interval:
    """The part of right answers among all clips, with its interval.

    Parameters
    ----------
    every : (N,) array
        The probability of the answer of every clip.
    sample : Sample
        The clips that were listened to.
    slope : float, optional
        b, where it was fitted on more clips than these.
    """
    n = len(sample.right)
    if n == 0:
        return Interval(float("nan"), 0.0, 1.0)
    x, a, w = evidence(sample.probability), sample.right.astype(float), 1 / sample.inclusion
    b = fit_slope(x, a) if slope is None else slope
    counts, centres = _cells(evidence(every))

    def mean(c: float) -> float:
        return float(counts @ expit(c + b * centres) / len(every))

    def excess(c: float, deviations: float = 0.0) -> float:
        m = expit(c + b * x)
        variance = ((1 - sample.inclusion) * w**2 * m * (1 - m)).sum()
        return float((w * (a - m)).sum() - deviations * np.sqrt(phi * variance))

    phi, value = 1.0, float(a.mean())
    if 0 < value < 1:
        c = brentq(excess, -FARTHEST, FARTHEST)
        value = mean(c)
        phi = _dispersion(w * (a - expit(c + b * x)), w**2 * _variance(c + b * x), sample.rank)
    phi *= n / max(n - 1, 1)
    low, high = (mean(_root(excess, deviations)) for deviations in (Z, -Z))
    return Interval(value, min(low, value), max(high, value))


def fit_slope(x: Float64, a: Float64) -> float:
    """b of the logistic regression of right answers ``a`` on ``x``, drawn to :data:`SLOPE`."""

    def lean(b: float) -> float:
        """The derivative of the log posterior in b, at the best c for it."""
        c = _root(lambda c: float((a - expit(c + b * x)).sum()))
        return float(((a - expit(c + b * x)) * x).sum() - (b - SLOPE) / SLOPE_DEVIATION**2)

    return float(brentq(lean, -5.0, 5.0))


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

    low, high = (_root(excess, deviations, bound=1 - 1e-9) for deviations in (Z, -Z))
    seen = alpha + beta > 0
    score = (alpha - beta) / np.sqrt((alpha + beta) / size) if seen else 0.0
    more = None
    if score != 0:
        more = max(0, int(np.ceil(n * (Z / score) ** 2)) - n)
    value = Interval(part * (alpha - beta), part * low, part * high)
    return Difference(value, float(ndtr(score)), more)


def thresholds(
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


def fit_shift(x: Float64, a: Float64, b: float, centre: float = 0.0) -> float:
    """c of the right answers ``a``, drawn to ``centre`` with a deviation of 1."""
    return _root(lambda c: float((a - expit(c + b * x)).sum() - (c - centre)))


def _cells(x: Float64) -> tuple[Float64, Float64]:
    """How many ``x`` lie in each of :data:`CELLS` cells, and their means there."""
    counts, edges = np.histogram(x, CELLS)
    sums, _ = np.histogram(x, edges, weights=x)
    filled = counts > 0
    return counts[filled], sums[filled] / counts[filled]


def _variance(logits: Float64) -> Float64:
    m = expit(logits)
    return np.asarray(m * (1 - m))


def _dispersion(residual: Float64, variance: Float64, rank: NDArray[np.intp]) -> float:
    """phi: squared differences of neighbouring residuals, in units of what the model expects."""
    order = np.argsort(rank, kind="stable")
    r, v = residual[order], variance[order]
    ratio = ((r[1:] - r[:-1]) ** 2).sum() / (v[1:] + v[:-1]).sum()
    n = v.sum() ** 2 / (v**2).sum()
    return float((DISPERSION_CLIPS + n * ratio) / (DISPERSION_CLIPS + n))


def _tango(alpha: float, beta: float, delta: float) -> float:
    """n times the variance of alpha - beta where the true difference is ``delta``."""
    B = -alpha - beta + (2 - alpha + beta) * delta
    C = -beta * delta * (1 - delta)
    q = (np.sqrt(max(B * B - 8 * C, 0.0)) - B) / 4
    return float(max(2 * q + delta * (1 - delta), 0.0))


def _root(falling: Callable[..., float], *more: float, bound: float = FARTHEST) -> float:
    """Where a falling function is 0, or the bound that is nearest to it."""
    if falling(-bound, *more) <= 0:
        return -bound
    if falling(bound, *more) >= 0:
        return bound
    return float(brentq(falling, -bound, bound, args=more))

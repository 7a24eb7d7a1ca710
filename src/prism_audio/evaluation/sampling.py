"""Accuracy from a few labels: a weighted estimate with a 95 % interval for clips picked unequally.

    m_i(c) = expit(c + b x_i)                        a clip's probability to be right
    d_i(c) = m_i(c) (1 - m_i(c))                     and the variance of that
    A(c)   = mean of m_i(c) over all N clips         accuracy, if c is true
    T(c)   = sum over listened clips of (a_i - m_i(c)) / pi_i
    V(c)   = phi  sum over listened clips of (1 - pi_i) d_i(c) / pi_i^2

a_i is 1 where the answer was right and pi_i the probability with which the clip was picked
(:mod:`prism_audio.evaluation.picking`); x_i and b are those of :mod:`prism_audio.evaluation.odds`.
The estimate is A(c) with T(c) = 0, a difference estimator: what the adapter expects of all clips,
corrected by the listened ones (Lehtonen and Veijanen 1998). The interval is every A(c) with
T(c)^2 <= z^2 V(c). With equal x_i and pi_i that is Wilson's interval of a simple random sample; where
the adapter's probability tells right from wrong it is narrower.

Some labels are right more often than their probabilities say, others less. The pick gives every label
its share, so most of that cancels, and phi is the part of the variance that is left. With tau the
variance of the labels' own log odds, r_i = a_i - m_i, m_i and d_i at the estimate,

    tau = (1 + sum of r_i r_j / (n_l - 1)) / (1 + sum of d_i d_j / (n_l - 1)),   not below 0
    phi sum of (1 - pi_i) d_i / pi_i^2  =  sum of (1 - pi_i) (d_i - tau d_i^2) / pi_i^2
                                + tau  sum over labels of (sum of d_i / pi_i  -  D_l)^2

The sums of the first line are over pairs of listened clips with the same label, n_l of them, so that a
label counts by its clips and not by its pairs; before any clip was heard tau is 1 with a deviation of 1.
D_l is the sum of d_i over all clips of the label, the sum before it that over the listened ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from prism_audio.evaluation.clip_scores import Interval, Z
from prism_audio.evaluation.odds import evidence, fit_slope, root_of_falling
from prism_audio.geometry.sphere import Labels
from prism_audio.io.types import Float64

# What is known of tau before any clip was heard, and the d_i d_j that this is worth.
TAU, TAU_WORTH = 1.0, 1.0
# Cells into which the x_i of all clips are counted.
CELLS = 400


class Sample(NamedTuple):
    """Clips (n) that were listened to: rows among all clips, whether the answer was right, and pi."""

    rows: NDArray[np.intp]
    right: NDArray[np.bool_]
    inclusion: Float64


def accuracy(
    probability: Float64, sample: Sample, label: Labels | None = None, slope: float | None = None
) -> Interval:
    """The part of right answers among all clips, with its interval.

    Parameters
    ----------
    probability : (N,) array
        The probability of the answer of every clip.
    sample : Sample
        The clips that were listened to.
    label : (N,) array, optional
        The label of every clip of which the pick took its share; without it phi is 1.
    slope : float, optional
        b, where it was fitted on more clips than these.
    """
    rows, right, pi = sample
    if len(rows) == 0:
        return Interval(float("nan"), 0.0, 1.0)
    x, a = evidence(probability), right.astype(float)
    b = fit_slope(x[rows], a) if slope is None else slope
    counts, centres = _cells(x)

    def mean(c: float) -> float:
        return float(counts @ expit(c + b * centres) / len(x))

    def excess(c: float, deviations: float = 0.0) -> float:
        m = expit(c + b * x[rows])
        variance = ((1 - pi) * m * (1 - m) / pi**2).sum()
        return float(((a - m) / pi).sum() - deviations * np.sqrt(phi * variance))

    phi, value = 1.0, float(a.mean())
    if 0 < value < 1:
        c = root_of_falling(excess)
        value = mean(c)
        if label is not None:
            phi = _variance_left(expit(c + b * x), sample, label)
    low, high = (mean(root_of_falling(excess, deviations)) for deviations in (Z, -Z))
    return Interval(value, min(low, value), max(high, value))


def _variance_left(m: Float64, sample: Sample, label: Labels) -> float:
    """phi, from the probabilities ``m`` (N,) at the estimate."""
    rows, right, pi = sample
    group = np.unique(label, return_inverse=True)[1]
    d, r = m * (1 - m), right - m[rows]
    everywhere, d, own = np.bincount(group, d), d[rows], group[rows]
    others = np.maximum(np.bincount(own, minlength=len(everywhere)) - 1, 1)

    def per_label(values: Float64) -> Float64:
        return np.bincount(own, values, minlength=len(everywhere)).astype(float)

    def pairs(values: Float64) -> float:
        """The sum of products over pairs of clips with the same label, each by 1 / (n_l - 1)."""
        return float(((per_label(values) ** 2 - per_label(values**2)) / others).sum() / 2)

    tau = max((TAU * TAU_WORTH + pairs(r)) / (TAU_WORTH + pairs(d)), 0.0)
    within = (1 - pi) / pi**2
    between = ((per_label(d / pi) - everywhere) ** 2).sum()
    whole = float((within * d).sum())
    left = (within * np.maximum(d - tau * d**2, 0)).sum() + tau * between
    return float(left / whole) if whole > 0 else 1.0


def _cells(x: Float64) -> tuple[Float64, Float64]:
    """How many ``x`` lie in each of :data:`CELLS` cells, and their means there."""
    counts, edges = np.histogram(x, CELLS)
    sums, _ = np.histogram(x, edges, weights=x)
    filled = counts > 0
    return counts[filled], sums[filled] / counts[filled]

"""Scores of labels: accuracy, macro-F1, accuracy by class, and bootstrap intervals."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.io.types import Float64

Labels = NDArray[np.integer]

DRAWS = 4000
# Draws made at a time, to bound the memory.
_PART = 500


class Interval(NamedTuple):
    """A mean with the bounds between which 95 % of bootstrap means lie."""

    mean: float
    low: float
    high: float


def accuracy(truth: Labels, labels: Labels) -> float:
    """Share of correct labels."""
    return float(np.mean(truth == labels))


def macro_f1(truth: Labels, labels: Labels) -> float:
    """Mean over the classes that occur of F1 = 2 right / (members + clips with that label)."""
    classes = np.unique(truth)
    size = int(max(truth.max(), labels.max())) + 1
    right = np.bincount(truth[truth == labels], minlength=size)
    both = np.bincount(truth, minlength=size) + np.bincount(labels, minlength=size)
    return float(np.mean(2 * right[classes] / both[classes]))


def class_accuracy(truth: Labels, labels: Labels, classes: int) -> Float64:
    """Accuracy (C,) within each class; NaN for a class without clips."""
    members = np.bincount(truth, minlength=classes)
    right = np.bincount(truth[truth == labels], minlength=classes)
    out = np.full(classes, np.nan)
    np.divide(right, members, out=out, where=members > 0)
    return out


def paired_bootstrap(differences: Float64, groups: NDArray[np.integer]) -> Interval:
    """Mean of per-clip differences, with a 95 % interval over redrawn groups of clips.

    A difference (N,) is one method's score of a clip minus another's in the same conditions. Clips cut
    from one recording are not independent, so whole groups are redrawn.
    """
    _, number = np.unique(groups, return_inverse=True)
    sums = np.bincount(number, weights=differences)
    sizes = np.bincount(number).astype(np.float64)
    both = np.column_stack([sums, sizes])
    total, clips = np.vstack([part.astype(float) @ both for part in _redrawn(len(sizes))]).T
    means = total / clips
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(differences.mean()), float(low), float(high))


@lru_cache(maxsize=2)
def _redrawn(count: int) -> list[NDArray[np.int16]]:
    """How often each of ``count`` groups is drawn, in parts (500, count): the same for all pairs."""
    random = np.random.default_rng(0)
    even = np.full(count, 1 / count)
    parts = DRAWS // _PART
    return [random.multinomial(count, even, size=_PART).astype(np.int16) for _ in range(parts)]

"""Accuracy, macro-F1 and confusions of labelled clips, with bootstrap intervals over recordings.

    accuracy = right / all,   F1_c = 2 TP_c / (2 TP_c + FP_c + FN_c),   macro-F1 = mean of F1_c

over the classes that occur in the truth. An interval holds the middle 95 % of the values that redrawn
recordings give; clips of one recording are drawn together, because they are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from prism_audio.evaluation.event_scores import Counts
from prism_audio.io.types import Float64

DRAWS, LEVEL = 2000, 0.95
# A normal variable lies between -Z and Z so often.
Z = float(ndtri((1 + LEVEL) / 2))


class Interval(NamedTuple):
    """A value and the bounds of its interval."""

    value: float
    low: float
    high: float


class Clips(NamedTuple):
    """Clips with their true labels, what was answered, and the recording that each comes from."""

    truth: list[str]
    answers: list[str]
    recordings: list[str]


def accuracy(clips: Clips) -> float:
    """The part of clips whose answer is right."""
    return float(np.mean([a == t for a, t in zip(clips.answers, clips.truth, strict=True)]))


def count_classes(clips: Clips) -> dict[str, Counts]:
    """Counts of every class that is in the truth or in the answers."""
    counts = {}
    for label in sorted({*clips.truth, *clips.answers}):
        pairs = [(t == label, a == label) for t, a in zip(clips.truth, clips.answers, strict=True)]
        hits = sum(t and a for t, a in pairs)
        counts[label] = Counts(
            hits, sum(a for _, a in pairs) - hits, sum(t for t, _ in pairs) - hits
        )
    return counts


def macro_f1(clips: Clips) -> float:
    """The mean F1 of the classes that occur in the truth."""
    counts = count_classes(clips)
    return float(np.mean([counts[label].f1 for label in set(clips.truth)]))


def confusion(clips: Clips) -> tuple[list[str], list[str], Float64]:
    """True labels, answers, and how many clips of each true label got each answer."""
    rows, columns = sorted(set(clips.truth)), sorted({*clips.truth, *clips.answers})
    table = np.zeros((len(rows), len(columns)))
    for true, answer in zip(clips.truth, clips.answers, strict=True):
        table[rows.index(true), columns.index(answer)] += 1
    return rows, columns, table


def interval(
    measure: Callable[[Clips], float], clips: Clips, less: Clips | None = None
) -> Interval:
    """A measure of clips with its interval; or how far it lies above that of ``less``.

    Both are answers to the same clips and are redrawn alike, so the interval of a difference is that
    of the difference and not of its parts.
    """
    groups: dict[str, list[int]] = {}
    for index, recording in enumerate(clips.recordings):
        groups.setdefault(recording, []).append(index)
    members = list(groups.values())

    def value(chosen: Sequence[int]) -> float:
        above = measure(_only(clips, chosen))
        return above if less is None else above - measure(_only(less, chosen))

    rng = np.random.default_rng(0)
    draws = rng.integers(len(members), size=(DRAWS, len(members)))
    values = [value([i for group in draw for i in members[group]]) for draw in draws]
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.nanpercentile(values, [tail, 100 - tail])
    return Interval(value(range(len(clips.truth))), float(low), float(high))


def _only(clips: Clips, chosen: Sequence[int]) -> Clips:
    return Clips(*([column[i] for i in chosen] for column in clips))

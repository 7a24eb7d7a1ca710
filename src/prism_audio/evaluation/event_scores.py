"""Event-based and segment-based F1 of detected events, by the rules of the DCASE challenges.

    event-based    a detection is right when its label is, its onset is off by at most ``collar``, and
                   its offset by at most max(collar, ``offset_share`` x length of the true event);
                   detections and true events are matched one to one, as many as possible
    segment-based  the recording is cut into segments of ``segment`` seconds; a label is active in a
                   segment when an event of it touches the segment

    precision = TP / (TP + FP),   recall = TP / (TP + FN),   F1 = 2 TP / (2 TP + FP + FN)

Counts of recordings add up, so a bootstrap over recordings needs nothing but the counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

# The collar and the share of the length of the DCASE challenges; segments of one second.
COLLAR, OFFSET_SHARE, SEGMENT = 0.5, 0.5, 1.0


class LabelledSpan(Protocol):
    """Anything with a label from ``start`` to ``end`` seconds."""

    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def label(self) -> str: ...


class Counts(NamedTuple):
    """True positives, false positives and false negatives."""

    hits: int = 0
    false_alarms: int = 0
    misses: int = 0

    @property
    def precision(self) -> float:
        return _ratio(self.hits, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        return _ratio(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float:
        return _ratio(2 * self.hits, 2 * self.hits + self.false_alarms + self.misses)


def count_events(
    truth: Iterable[LabelledSpan],
    detections: Iterable[LabelledSpan],
    *,
    collar: float = COLLAR,
    offset_share: float = OFFSET_SHARE,
) -> dict[str, Counts]:
    """Counts by label for one recording, event-based.

    Parameters
    ----------
    truth, detections : iterables of spans
        The true events and the detected ones of the same recording.
    collar : float
        Seconds by which an onset may be off.
    offset_share : float
        Share of the length of the true event by which its offset may be off, where that is more.
    """
    wanted, given = _by_label(truth), _by_label(detections)
    counts = {}
    for label in sorted(wanted.keys() | given.keys()):
        true, found = wanted.get(label, []), given.get(label, [])
        hits = _matches(true, found, collar, offset_share)
        counts[label] = Counts(hits, len(found) - hits, len(true) - hits)
    return counts


def count_segments(
    truth: Iterable[LabelledSpan],
    detections: Iterable[LabelledSpan],
    *,
    segment: float = SEGMENT,
) -> dict[str, Counts]:
    """Counts by label for one recording, segment-based."""
    wanted, given = _by_label(truth), _by_label(detections)
    counts = {}
    for label in sorted(wanted.keys() | given.keys()):
        true, found = (_segments(spans.get(label, []), segment) for spans in (wanted, given))
        counts[label] = Counts(len(true & found), len(found - true), len(true - found))
    return counts


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of counts: over labels for a micro average, over recordings for a whole set."""
    return Counts(*(sum(column) for column in zip(Counts(), *counts, strict=True)))


def add_up(recordings: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """Counts by label over several recordings."""
    summed: dict[str, Counts] = {}
    for counts in recordings:
        for label, count in counts.items():
            summed[label] = total([summed.get(label, Counts()), count])
    return dict(sorted(summed.items()))


def f1_interval(
    recordings: Sequence[Mapping[str, Counts]], draws: int = 2000
) -> tuple[float, float] | None:
    """The middle 95 % of F1 over redrawn recordings; None for fewer than two."""
    if len(recordings) < 2:
        return None
    counts = np.array([total(by_label.values()) for by_label in recordings])
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(counts), size=(draws, len(counts)))
    hits, alarms, misses = counts[chosen].sum(axis=1).T
    f1 = 2 * hits / np.maximum(2 * hits + alarms + misses, 1)
    low, high = np.percentile(f1, [2.5, 97.5])
    return float(low), float(high)


def _by_label(spans: Iterable[LabelledSpan]) -> dict[str, list[LabelledSpan]]:
    groups: dict[str, list[LabelledSpan]] = {}
    for span in spans:
        groups.setdefault(span.label, []).append(span)
    return groups


def _matches(
    true: Sequence[LabelledSpan], found: Sequence[LabelledSpan], collar: float, share: float
) -> int:
    """The most pairs that can be matched one to one."""
    if not true or not found:
        return 0
    fits = np.zeros((len(true), len(found)), dtype=bool)
    for i, a in enumerate(true):
        late = max(collar, share * (a.end - a.start))
        for j, b in enumerate(found):
            fits[i, j] = abs(a.start - b.start) <= collar and abs(a.end - b.end) <= late
    return int(np.sum(maximum_bipartite_matching(csr_array(fits), perm_type="column") >= 0))


def _segments(spans: Iterable[LabelledSpan], length: float) -> set[int]:
    active: set[int] = set()
    for span in spans:
        active.update(range(math.floor(span.start / length), math.ceil(span.end / length)))
    return active


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan

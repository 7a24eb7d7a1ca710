"""Sound event detection: windows that stand out from what is ordinarily heard at a place.

    e'_i  = mean of the rows within 2.5 s around window i            (events last longer than a window)
    m     = median of the e'_i,     S = mean of (e'_i - m)(e'_i - m)^T
    H     = (S + floor I)^(-1/2) (P - mean of P)^T, columns of unit length
    x_ic  = (e'_i - m) H_c, less its median over i, less its mean over the rows of P
    u_c   = |H_c| * root of the mean variance of the rows in any direction, from the trace of S
    z_ic  = x_ic / sqrt(standard deviation of x_c * 1.25 mean |x_c|  +  u_c^2)

Most windows of a long recording hold no event. So the median window is the background, its scatter is
how the background varies, and z tells by how many deviations a window speaks for class c. The events
themselves widen a standard deviation, the more the shorter the recording; a mean absolute deviation
is widened less, but knows less of rare loud things in the background; so the deviation is the geometric
mean of both. Towards some labels a place hardly ever varies; there the least unevenness would be many
deviations. So the deviation has a second part u: what the place varies by in an average direction. A
short recording hardly knows how its place varies: what comes next deviates more than what was learnt
from. So below ten minutes the x that the deviation is taken from are held out: those of each quarter,
with m, S and H of the others. P are the prototypes of the labels, of the background words, and the
background m itself: what raises the scores of all of them alike is no event. Scores of single windows
say little; z needs no threshold that was chosen on labelled recordings of the place. The rows are those
before the correction of an adapter: it draws every window towards a label, also where nothing happens.

An event is where z of its class passes an onset h, and reaches on both sides as far as z stays above
half of its peak and above 0.4 h. Windows whose highest z belongs to a background word are background.
Where several labels may overlap, each is looked for by itself; labels that mean the same then give an
event each.

    h = the least of 3, 3.25, ... 6.5 at which  80 exp(-(h - 3)) (hours)  <=  0.2 (number of events)

The left side is how many events pass where nothing happens; nine of ten half-hours have fewer. So where
much happens a lower z counts than where little does, and at most about a fifth of the events may be
expected to be false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.ndimage import uniform_filter1d

from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.types import Float, Float32, Float64

# The onsets that are tried, and the part of the onset below which an event has surely ended.
ONSETS, FLOOR = np.arange(3, 6.51, 0.25), 0.4
# False events an hour on pure background at the least onset, how fast they fall with every deviation
# above it, and the part of all events that may be false. The first two were fitted to what nine of ten
# of thirty half-hours without events stay below, six of each of five places; other scenes check them
# (benchmarks/scenes.py).
FALSE_RATE, FALL, FALSE_SHARE = 80.0, 1.0, 0.2
# Seconds that the rows are averaged over.
SMOOTHING = 2.5
# Floor of the whitening, in mean eigenvalues of the scatter: turns down only what varies most.
RIDGE = 30.0
# Windows from which a background can be learnt, and from which parts of it need not be learnt apart:
# about a minute of sound, and ten.
ENOUGH, SETTLED = 120, 1200
PARTS = 4
# Rows that are worked on at a time.
BLOCK = 8192


class Background(NamedTuple):
    """What is ordinarily heard: ``strength`` of rows is ((rows - centre) head - offset) / deviation."""

    centre: Float64
    head: Float64
    offset: Float64
    deviation: Float64

    def strengths(self, rows: Float) -> Float64:
        """z (N, C) of smoothed rows (N, d) for the labels and the background words."""
        return _scores(rows, self.centre, self.head, self.offset) / self.deviation


class Detection(NamedTuple):
    """An event: windows ``first`` to ``last``, the index of its class, and its highest z."""

    first: int
    last: int
    label: int
    strength: float


def smooth(rows: Float32, hop: float) -> Float32:
    """Rows (N, d) of one recording, ``hop`` seconds apart, averaged over :data:`SMOOTHING` seconds."""
    width = max(1, round(SMOOTHING / hop))
    return np.asarray(uniform_filter1d(rows, width, axis=0, mode="nearest"))


def learn_background(rows: Float, prototypes: Float) -> Background:
    """The background of a place.

    Parameters
    ----------
    rows : (N, d) array
        Smoothed rows of all its recordings.
    prototypes : (C, d) array
        Text vectors of the labels, then of the background words.
    """
    P = prototypes.astype(np.float64)
    centre, head, offset, spread = _ordinary(rows, P)
    if len(rows) < SETTLED:
        parts = np.array_split(rows, PARTS)
        others = [np.concatenate(parts[:k] + parts[k + 1 :]) for k in range(PARTS)]
        pairs = zip(parts, others, strict=True)
        x = np.concatenate([_scores(part, *_ordinary(rest, P)[:3]) for part, rest in pairs])
    else:
        x = _scores(rows, centre, head, offset)
    own = x.std(axis=0) * np.sqrt(np.pi / 2) * np.abs(x).mean(axis=0)
    deviation = np.sqrt(own + spread**2)
    return Background(centre, head, offset, np.where(deviation > 0, deviation, np.inf))


class Ordinary(NamedTuple):
    """m (d,), H (d, C), the median scores (C,) and u (C,) of a background."""

    centre: Float64
    head: Float64
    offset: Float64
    spread: Float64


def _ordinary(rows: Float, P: Float64) -> Ordinary:
    centre: Float64 = np.median(rows, axis=0).astype(np.float64)
    S = sum((block.T @ block for block in _blocks(rows, centre)), np.zeros((len(centre),) * 2))
    values, vectors = linalg.eigh(S / len(rows), check_finite=False)
    floor = RIDGE * max(values.mean(), np.finfo(np.float64).tiny)
    gain = (vectors / np.sqrt(np.maximum(values, 0) + floor)) @ vectors.T
    P = np.vstack([P, unit_rows(centre[None])])
    head = ((P - P.mean(axis=0)) @ gain).T
    lengths = np.linalg.norm(head, axis=0)
    head /= np.where(lengths > 0, lengths, 1)
    offset = np.median(_scores(rows, centre, head, np.zeros(len(P))), axis=0)
    # The mean over the rows of P is linear in the scores, so it goes into the head.
    head, offset = (v - v.mean(axis=-1, keepdims=True) for v in (head, offset))
    spread = np.sqrt(np.maximum(values.mean(), 0)) * np.linalg.norm(head, axis=0)
    return Ordinary(centre, head[:, :-1], offset[:-1], spread[:-1])


def _scores(rows: Float, centre: Float64, head: Float64, offset: Float64) -> Float64:
    """x (N, C) of rows (N, d)."""
    return np.concatenate([block @ head - offset for block in _blocks(rows, centre)])


def _blocks(rows: Float, centre: Float64) -> Iterator[Float64]:
    """Rows less the centre, some thousand at a time: a day of sound has hundreds of thousands."""
    for first in range(0, len(rows), BLOCK):
        yield rows[first : first + BLOCK] - centre


def false_rate(z: Float64 | float) -> Float64:
    """Events an hour that reach ``z`` where nothing happens."""
    return np.asarray(FALSE_RATE * np.exp(-FALL * (np.asarray(z) - ONSETS[0])))


def choose_onset(recordings: Sequence[Float64], labels: int, hop: float) -> float:
    """The onset h for all recordings of a place; ``hop`` are the seconds from window to window."""
    hours = hop * sum(map(len, recordings)) / 3600
    for onset in ONSETS[:-1]:
        events = sum(len(detect(z, labels, float(onset))) for z in recordings)
        if false_rate(onset) * hours <= FALSE_SHARE * events:
            return float(onset)
    return float(ONSETS[-1])


def detect(z: Float64, labels: int, onset: float) -> list[Detection]:
    """The events of one recording from z (N, C), of which the first ``labels`` columns are labels."""
    best, floor = z.max(axis=1), FLOOR * onset
    events = []
    for first, stop in _stretches(best > floor):
        part = z[first:stop]
        label = int(part.max(axis=0).argmax())
        peak, begin, end = reach(part[:, label], floor)
        strength = float(part[peak, label])
        if strength >= onset and label < labels:
            events.append(Detection(first + begin, first + end, label, strength))
    return events


def detect_each(z: Float64, labels: int, onset: float) -> list[Detection]:
    """The events of every label by itself, so several may overlap."""
    events = [
        event._replace(label=label)
        for label in range(labels)
        for event in detect(z[:, [label]], 1, onset)
    ]
    return sorted(events)


def reach(z: Float64, floor: float) -> tuple[int, int, int]:
    """The peak of z (n,), and the first and last window around it above half of it and ``floor``."""
    peak = int(z.argmax())
    above = z > max(floor, float(z[peak]) / 2)
    first = peak - int(np.argmin(np.append(above[peak::-1], False))) + 1
    last = peak + int(np.argmin(np.append(above[peak:], False))) - 1
    return peak, first, last


def confidences(strengths: Sequence[float], hours: float) -> Float64:
    """For every event of a place the part of those at least as strong that is expected to be true.

    One minus the false discovery rate, made monotone as q-values are.
    """
    z = np.asarray(strengths, dtype=np.float64)
    order = np.argsort(-z, kind="stable")
    false = false_rate(z[order]) * hours / np.arange(1, len(z) + 1)
    least = np.minimum.accumulate(false[::-1])[::-1]
    result = np.empty(len(z))
    result[order] = 1 - np.minimum(least, 1)
    return result


def _stretches(active: np.ndarray) -> list[tuple[int, int]]:
    """Where runs of True begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

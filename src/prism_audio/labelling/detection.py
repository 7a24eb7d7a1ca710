"""Sound event detection: windows that stand out from what is ordinarily heard at a place.

    e'_i  = mean of the rows within 2.5 s around window i            (events last longer than a window)
    m     = median of the e'_i,     S = mean of (e'_i - m)(e'_i - m)^T
    H     = (S + floor I)^(-1/2) (P - mean of P)^T, columns of unit length
    x_ic  = (e'_i - m) H_c, less its median over i, less its mean over the rows of P
    z_ic  = x_ic / sqrt(standard deviation of x_c * 1.25 mean |x_c|)

Most windows of a long recording hold no event. So the median window is the background, its scatter is
how the background varies, and z tells by how many deviations a window speaks for class c. The events
themselves widen a standard deviation, the more the shorter the recording; a mean absolute deviation
is widened less, but knows less of rare loud things in the background; so the deviation is the geometric
mean of both. P are the
prototypes of the labels, of the background words, and the background m itself: what raises the scores
of all of them alike is no event. Scores of single windows say little; z needs no threshold that was
chosen on labelled recordings of the place.

An event is where z of its class passes an onset h, and reaches on both sides as far as z stays above
half of its peak and above 0.4 h. Windows whose highest z belongs to a background word are background.
Where several labels may overlap, each is looked for by itself in

    z'_ic = min over a with z_ia > z_ic of  z_ic - leak_ac z_ia

leak_ac is how far prototype a raises the score of c, as a part of how far it raises its own.

    h = the least of 4, 4.5, ... 12 at which  61 exp(-0.41 (h - 4)) (hours)  <=  0.2 (number of events)

The left side is how many events pass on recordings in which nothing happens: their z has heavy tails,
which fall by a third with every deviation. So where much happens a lower z counts than where little
does, and about a fifth of the events may be expected to be false.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.ndimage import uniform_filter1d

from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.types import Float, Float64

# The onsets that are tried, and the part of the onset below which an event has surely ended.
ONSETS, FLOOR = np.arange(4, 12.01, 0.5), 0.4
# False events an hour on pure background at the least onset, how fast they fall with every deviation
# above it, and the part of all events that may be false. The first two were fitted to four half-hours
# without events, one of each place; other scenes check them (benchmarks/scenes.py).
FALSE_RATE, FALL, FALSE_SHARE = 61.0, 0.41, 0.2
# Seconds that the rows are averaged over.
SMOOTHING = 2.5
# Floor of the whitening, in mean eigenvalues of the scatter: turns down only what varies most.
RIDGE = 30.0
# Windows from which a background can be learnt: about a minute of sound.
ENOUGH = 120


class Background(NamedTuple):
    """What is ordinarily heard: ``strength`` of rows is ((rows - centre) head - offset) / deviation.

    ``leak`` (C, C) is how far a sound of one class raises the strength of every other, as a part of
    its own.
    """

    centre: Float64
    head: Float64
    offset: Float64
    deviation: Float64
    leak: Float64

    def strengths(self, rows: Float) -> Float64:
        """z (N, C) of smoothed rows (N, d) for the labels and the background words."""
        x = (rows - self.centre) @ self.head
        return np.asarray((x - self.offset) / self.deviation)

    def apart(self, z: Float64) -> Float64:
        """z (N, C) less what stronger classes account for: what each class adds of its own."""
        least = z.copy()
        for a, leak in enumerate(self.leak):
            stronger = z[:, [a]] > z
            np.minimum(least, z - leak * z[:, [a]], out=least, where=stronger)
        return least


class Detection(NamedTuple):
    """An event: windows ``first`` to ``last``, the index of its class, and its highest z."""

    first: int
    last: int
    label: int
    strength: float


def smooth(rows: Float, hop: float) -> Float64:
    """Rows (N, d) of one recording, ``hop`` seconds apart, averaged over :data:`SMOOTHING` seconds."""
    width = max(1, round(SMOOTHING / hop))
    return np.asarray(uniform_filter1d(rows.astype(np.float64), width, axis=0, mode="nearest"))


def learn_background(rows: Float, prototypes: Float) -> Background:
    """The background of a place.

    Parameters
    ----------
    rows : (N, d) array
        Smoothed rows of all its recordings.
    prototypes : (C, d) array
        Text vectors of the labels, then of the background words.
    """
    centre: Float64 = np.median(rows, axis=0).astype(np.float64)
    R = rows - centre
    S = R.T @ R / len(R)
    values, vectors = linalg.eigh(S, check_finite=False)
    floor = RIDGE * max(values.mean(), np.finfo(np.float64).tiny)
    gain = (vectors / np.sqrt(np.maximum(values, 0) + floor)) @ vectors.T
    P = np.vstack([prototypes, unit_rows(centre[None])]).astype(np.float64)
    head = ((P - P.mean(axis=0)) @ gain).T
    lengths = np.linalg.norm(head, axis=0)
    head /= np.where(lengths > 0, lengths, 1)
    x = R @ head
    offset = np.median(x, axis=0)
    # The mean over the rows of P is linear in x, so it goes into the head.
    x, head, offset = (v - v.mean(axis=-1, keepdims=True) for v in (x, head, offset))
    x -= offset
    deviation = np.sqrt(x.std(axis=0) * np.sqrt(np.pi / 2) * np.abs(x).mean(axis=0))
    C = len(prototypes)
    deviation = np.where(deviation > 0, deviation, np.inf)
    response = ((P - P.mean(axis=0)) @ head / deviation)[:C, :C]
    own = np.maximum(np.diag(response), np.finfo(np.float64).tiny)
    leak = np.clip(response / own[:, None], 0, 1)
    return Background(centre, head[:, :C], offset[:C], deviation[:C], leak)


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
    """The events of every label by itself, from :meth:`Background.apart`; several may overlap."""
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

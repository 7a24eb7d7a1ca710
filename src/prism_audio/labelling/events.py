"""From windows to events: what was heard from when to when.

Long recordings: :func:`detect_events` learns the background of the place from their windows and finds
what stands out (:mod:`prism_audio.labelling.detection`); streams do the same without looking ahead
(:mod:`prism_audio.labelling.live_events`). Sound too short to tell what is ordinary in it:
:class:`Events` and :func:`merge_windows` join neighbouring windows of one label.

Neighbouring windows overlap; the boundary between two lies in the middle of what they share, so
events never overlap and leave no gap that was heard. A change of label counts once ``confirm``
windows in a row agree on it; what disagrees for less belongs to the event around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.types import Float64
from prism_audio.labelling import detection
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import Row
from prism_audio.labelling.wall_clock import time_of
from prism_audio.model.adapter import Adapter


class LabelledWindow(NamedTuple):
    """A window: from when to when in seconds, its label (None: unknown) and score."""

    start: float
    end: float
    label: str | None
    score: float


@dataclass(frozen=True)
class Event:
    """A stretch of one label.

    Attributes
    ----------
    label : str
        What was heard.
    start, end : float
        From when to when, in seconds; for an event that has just begun, ``end`` is now.
    score : float
        Mean score of the windows that carry the label.
    windows : int
        How many do.
    confidence, strength : float or None
        The chance that it is real, and by how many deviations it stands out; None where the
        background is not known.
    scores : dict from label to float
        Mean score of every label while it went on, where that is known.
    """

    label: str
    start: float
    end: float
    score: float
    windows: int
    confidence: float | None = None
    strength: float | None = None
    scores: dict[str, float] = field(default_factory=dict)


Change = tuple[Literal["begin", "end"], Event]


class Events:
    """Windows in, events out, one window at a time.

    Parameters
    ----------
    confirm : int
        Windows in a row that must agree before a change counts.
    """

    def __init__(self, confirm: int = 1) -> None:
        if confirm < 1:
            raise InputError(f"confirm is {confirm}; it takes at least one window to hear anything")
        self._confirm = confirm
        self._label: str | None = None  # of the event that is going on, if one is
        self._since = 0.0
        self._total, self._count = 0.0, 0  # scores of its windows
        self._last: LabelledWindow | None = None
        self._rivals: list[LabelledWindow] = []  # windows in a row that agree on something else
        self._cut = (0.0, 0.0)  # where one event ends and the next begins, should they prevail

    def add(self, window: LabelledWindow) -> list[Change]:
        """Hear one more window; gives the end of an event, the beginning of one, both, or none."""
        last, self._last = self._last, window
        if window.label == self._label:
            self._rivals = []
            self._total, self._count = self._total + window.score, self._count + 1
            return []
        if not self._rivals or self._rivals[-1].label != window.label:
            self._rivals, self._cut = [], _boundary(last, window)
        self._rivals.append(window)
        return self._switch() if len(self._rivals) >= self._confirm else []

    def close(self) -> list[Change]:
        """The sound is over: gives the end of the event that was going on."""
        if self._label is None or self._last is None:
            return []
        return [("end", self._event(self._last.end))]

    def _switch(self) -> list[Change]:
        until, begin = self._cut
        changes: list[Change] = []
        if self._label is not None:
            changes.append(("end", self._event(until)))
        winners, self._rivals = self._rivals, []
        self._label, self._since = winners[0].label, begin
        self._total, self._count = sum(window.score for window in winners), len(winners)
        if self._label is not None:
            changes.append(("begin", self._event(winners[-1].end)))
        return changes

    def _event(self, end: float) -> Event:
        return Event(str(self._label), self._since, end, self._total / self._count, self._count)


def _boundary(last: LabelledWindow | None, window: LabelledWindow) -> tuple[float, float]:
    """Where the sound of ``last`` ends and that of ``window`` begins."""
    if last is None:
        return window.start, window.start
    if window.start >= last.end:
        return last.end, window.start
    middle = (window.start + last.end) / 2
    return middle, middle


def events(windows: Iterable[LabelledWindow], confirm: int = 1) -> Iterator[Event]:
    """The events of one recording from its windows in order."""
    merger = Events(confirm)
    for window in windows:
        yield from (event for kind, event in merger.add(window) if kind == "end")
    yield from (event for _, event in merger.close())


class FileEvent(NamedTuple):
    """An event and the recording it was heard in.

    ``score`` is the mean cosine of its windows; where the background is known, ``confidence`` is the
    chance that it is real and ``strength`` by how many deviations it stands out. ``time`` is when it
    began, in ISO 8601, where the recording tells.
    """

    file: str
    start: float
    end: float
    label: str
    score: float
    windows: int
    confidence: float | None = None
    strength: float | None = None
    time: str | None = None


def merge_windows(rows: Iterable[Row], confirm: int = 1) -> list[FileEvent]:
    """The events of every recording, from the labels of its windows."""
    result = []
    for file, windows in groupby(rows, key=lambda row: row.file):
        labelled = (
            LabelledWindow(row.start, row.end, row.best if row.convinced else None, row.score)
            for row in windows
            if row.start is not None and row.end is not None
        )
        for event in events(labelled, confirm):
            start, end, score = round(event.start, 3), round(event.end, 3), round(event.score, 6)
            time = time_of(file, start)
            result.append(FileEvent(file, start, end, event.label, score, event.windows, time=time))
    return result


def has_background(batch: Batch) -> bool:
    """Whether a batch of windows is long enough to tell what is ordinary in it."""
    return len(batch) >= detection.ENOUGH


def detect_events(
    batch: Batch, adapter: Adapter, *, confirm: int = 1, multi: bool = False
) -> list[FileEvent]:
    """The events of recordings from one place, against the background that they share.

    Parameters
    ----------
    batch : Batch
        A row for every window, recording by recording in order; see :func:`has_background`.
    adapter : Adapter
        Its labels are what is listened for; its correction is in the scores alone.
    confirm : int
        Windows that an event lasts at least.
    multi : bool
        Look for every label by itself, so that events of several may overlap.
    """
    spans = _recordings(batch)
    hop = float(np.median(np.concatenate([np.diff(batch.start[span]) for span in spans])))
    rows = np.empty_like(batch.embeddings)
    for span in spans:
        rows[span] = detection.smooth(unit_rows(batch.embeddings[span]), hop)
    background = detection.learn_background(rows, adapter.prototypes)
    strengths = [background.strengths(rows[span]) for span in spans]
    C = len(adapter.labels) - (adapter.facts.background or 0)
    onset = detection.choose_onset(strengths, C, hop)
    least = label_onsets(adapter, onset)
    find = detection.detect_each if multi else detection.detect
    result, z = [], []
    for span, strength in zip(spans, strengths, strict=True):
        scores = detection.smooth(adapter.scores(batch.embeddings[span]), hop)
        for event in find(strength, C, onset):
            if event.last - event.first + 1 < confirm or event.strength < least[event.label]:
                continue
            part = slice(span.start + event.first, span.start + event.last + 1)
            middle = (batch.start[part] + batch.end[part]) / 2
            begin = max(middle[0] - hop / 2, batch.start[span.start])
            end = min(middle[-1] + hop / 2, batch.end[span.stop - 1])
            z.append(event.strength)
            file = batch.files[span.start]
            result.append(
                FileEvent(
                    file,
                    round(float(begin), 3),
                    round(float(end), 3),
                    adapter.labels[event.label],
                    round(float(scores[event.first : event.last + 1, event.label].mean()), 6),
                    part.stop - part.start,
                    strength=round(event.strength, 4),
                    time=time_of(file, float(begin)),
                )
            )
    sure = detection.confidences(z, hop * len(batch) / 3600)
    return [e._replace(confidence=round(float(c), 4)) for e, c in zip(result, sure, strict=True)]


def label_onsets(adapter: Adapter, onset: float) -> Float64:
    """The least strength (C,) of an event of every label: the onset, or a higher one of its own."""
    own = adapter.facts.label_onsets or (None,) * len(adapter.labels)
    return np.array([onset if value is None else max(onset, value) for value in own])


def _recordings(batch: Batch) -> list[slice]:
    """Where the windows of each recording lie."""
    starts = [i for i in range(len(batch)) if i == 0 or batch.files[i] != batch.files[i - 1]]
    return [slice(*bounds) for bounds in zip(starts, [*starts[1:], len(batch)], strict=True)]

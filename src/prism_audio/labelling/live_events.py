"""Events of a stream: what stands out from what was heard so far, without looking ahead.

The rule is that of files (:mod:`prism_audio.labelling.detection`) on the past alone: rows are averaged
over the last 2.5 s, the background and the onset are learnt from the last half-hour, again and again.
What comes next was not learnt from. Had it been, with the n of N windows that are averaged, its z would
be z / sqrt(1 + n z^2 / N); that must pass the onset h, so z must pass h / sqrt(1 - n h^2 / N), which is
out of reach while little has been heard. An event begins when its label has passed this and its peak,
and ends when it has fallen below half of that peak. The first minute is kept until its background is
known; a stream that ends before is too short for one, so its labels are merged, as those of a short
recording are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.types import Float, Float32, Float64
from prism_audio.labelling import detection
from prism_audio.labelling.events import Change, Event, Events, LabelledWindow, label_onsets
from prism_audio.model.adapter import Adapter

# Seconds that the background remembers, and at most from one look at it to the next. Before that it is
# learnt again whenever a tenth more has been heard.
MEMORY, PATIENCE, GROWTH = 1800.0, 300.0, 1.1
# Seconds of a rise that an event may begin in.
RISE = 60.0


class Heard(NamedTuple):
    """A smoothed window: its middle in seconds, z and the cosine of every label."""

    middle: float
    z: Float64
    scores: Float64


class LiveEvents:
    """Windows in, events out, against the background of the stream itself.

    Parameters
    ----------
    adapter : Adapter
        Its labels are what is listened for; its correction is in the scores alone.
    hop, window, own : float
        Seconds from one row to the next, behind a row, and in the encoder's own window.
    confirm : int
        Windows that an event lasts at least.
    multi : bool
        Look for every label by itself, so that events of several may overlap.
    """

    def __init__(
        self,
        adapter: Adapter,
        hop: float,
        window: float,
        own: float,
        confirm: int = 1,
        multi: bool = False,
    ) -> None:
        self._hop, self._confirm, self._multi = hop, confirm, multi
        self._width = max(1, round((detection.SMOOTHING - (window - own)) / hop))
        rows = round(MEMORY / hop)
        self._past: deque[tuple[float, float, Float32]] = deque(maxlen=max(rows, detection.ENOUGH))
        self._first: list[LabelledWindow] | None = []  # until there is a background
        self._seen, self._next = 0, detection.ENOUGH
        self._since = 0  # windows since the sound last began
        self._background: detection.Background | None = None
        self._onset, self._strengths = 0.0, [0.0]
        self._use(adapter)

    def switch_to(self, adapter: Adapter) -> list[Change]:
        """Go on with another adapter; what is going on ends."""
        changes = self._named(track.close() for track in self._tracks)
        self._use(adapter)
        if self._background is not None:
            self._learn()
        return changes

    def add(self, window: LabelledWindow, embedding: Float32) -> list[Change]:
        """Hear one more window; gives the beginnings and ends of events."""
        self._past.append((window.start, window.end, embedding))
        self._seen, self._since = self._seen + 1, self._since + 1
        fresh = 1
        if self._seen >= self._next:
            if self._first is not None:
                fresh, self._first = self._since, None
            self._learn()
            self._next = min(round(GROWTH * self._seen), self._seen + round(PATIENCE / self._hop))
        if self._first is not None:
            self._first.append(window)
            return []
        changes = []
        least = self._onset if fresh > 1 else self._onset_ahead()
        for heard in self._smoothed(fresh):
            changes += self._named(track.add(heard, self._onset, least) for track in self._tracks)
        return changes

    def close(self) -> list[Change]:
        """The sound is over: gives the ends of what was going on. More may come, from time 0 on."""
        self._since = 0
        if self._first is None:
            return self._named(track.close() for track in self._tracks)
        merger, changes = Events(self._confirm), []
        for window in self._first:
            changes += merger.add(window)
        self._first = []
        return changes + merger.close()

    def _use(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._labels = len(adapter.labels) - (adapter.facts.background or 0)
        columns = range(self._labels) if self._multi else (None,)
        self._tracks = [Track(adapter, self._hop, self._confirm, only=c) for c in columns]

    def _learn(self) -> None:
        """Learn the background and the onset from what is remembered."""
        count = len(self._past)
        rows = self._averages(self._recent(count, 0), count)
        self._background = detection.learn_background(rows, self._adapter.prototypes)
        z = self._background.strengths(rows)
        self._onset = detection.choose_onset([z], self._labels, self._hop)
        found = detection.detect(z, self._labels, self._onset)
        self._strengths = [event.strength for event in found]

    def _onset_ahead(self) -> float:
        """The least z of an event in windows that the background was not learnt from."""
        rest = 1 - self._width * self._onset**2 / len(self._past)
        return float(self._onset / np.sqrt(rest)) if rest > 0 else np.inf

    def _recent(self, count: int, since: int) -> Float:
        """The last ``count`` rows, and those from ``since`` on that they are averaged with."""
        first = max(since, len(self._past) - count - self._width + 1)
        past = [self._past[i][2] for i in range(first, len(self._past))]
        return unit_rows(np.stack(past).astype(np.float64))

    def _averages(self, values: Float, count: int) -> Float64:
        """The last ``count`` values (N, ...), each averaged with those before it."""
        sums = np.vstack([np.zeros_like(values[:1]), values.cumsum(axis=0)])
        ends = np.arange(len(values) - count, len(values)) + 1
        begins = np.maximum(ends - self._width, 0)
        return np.asarray((sums[ends] - sums[begins]) / (ends - begins)[:, None])

    def _smoothed(self, count: int) -> list[Heard]:
        assert self._background is not None
        since = max(0, len(self._past) - self._since)
        rows = self._recent(count, since)
        z = self._background.strengths(self._averages(rows, count))
        scores = self._averages(self._adapter.scores(rows), count)
        ends = range(len(self._past) - count, len(self._past))
        begins = (max(since, end - self._width + 1) for end in ends)
        middles = [
            (self._past[begin][0] + self._past[end][1]) / 2
            for begin, end in zip(begins, ends, strict=True)
        ]
        return [Heard(*each) for each in zip(middles, z, scores, strict=True)]

    def _named(self, changes: Iterable[list[TrackChange]]) -> list[Change]:
        return [
            ("begin" if begins else "end", self._event(span))
            for track in changes
            for begins, span in track
        ]

    def _event(self, span: Span) -> Event:
        hours = self._hop * len(self._past) / 3600
        sure = detection.confidences([*self._strengths, span.strength], hours)[-1]
        mean = span.scores / span.windows
        return Event(
            self._adapter.labels[span.label],
            span.start,
            span.end,
            float(mean[span.label]),
            span.windows,
            round(float(sure), 4),
            round(span.strength, 4),
            {
                name: round(float(score), 6)
                for name, score in zip(self._adapter.labels, mean[: self._labels], strict=False)
            },
        )


class Span(NamedTuple):
    """An event so far: its label, bounds, highest z, windows and the sum of their scores."""

    label: int
    start: float
    end: float
    strength: float
    windows: int
    scores: Float64


# Whether it begins (else ends), and what.
TrackChange = tuple[bool, Span]


class Track:
    """Two states, nothing and an event, over z of labels and background words.

    Parameters
    ----------
    adapter : Adapter
        Says which columns are labels, and what strength each needs.
    hop : float
        Seconds from window to window.
    confirm : int
        Windows that an event lasts at least.
    only : int, optional
        Look for this label alone.
    """

    def __init__(
        self, adapter: Adapter, hop: float, confirm: int = 1, only: int | None = None
    ) -> None:
        self._adapter, self._hop, self._confirm = adapter, hop, confirm
        self._columns = slice(None) if only is None else slice(only, only + 1)
        self._first = only or 0
        self._labels = len(adapter.labels) - (adapter.facts.background or 0)
        self._rise: deque[Heard] = deque(maxlen=max(2, round(RISE / hop)))
        self._event: Span | None = None
        self._spent = False  # the event of this rise is over: one a rise, as in files

    def add(self, heard: Heard, onset: float, least: float) -> list[TrackChange]:
        """Hear one more window; an event that begins has a peak of at least ``least``."""
        heard = heard._replace(z=heard.z[self._columns])
        floor = detection.FLOOR * onset
        if float(heard.z.max()) <= floor:
            changes = self._end() if self._event else self._begin(onset, least, over=True)
            self._rise.clear()
            self._spent = False
            return changes
        if self._event:
            return self._go_on(self._event, heard, floor)
        if self._spent:
            return []
        self._rise.append(heard)
        return self._begin(onset, least, over=False)

    def close(self) -> list[TrackChange]:
        """The end of what is going on."""
        return self._end() if self._event else []

    def _begin(self, onset: float, least: float, *, over: bool) -> list[TrackChange]:
        """An event, where the rise has one that is past its peak."""
        if not self._rise:
            return []
        z = np.array([heard.z for heard in self._rise])
        column = int(z.max(axis=0).argmax())
        label = self._first + column
        peak, first, last = detection.reach(z[:, column], detection.FLOOR * onset)
        strength, rising = float(z[peak, column]), peak == len(z) - 1 and not over
        if label >= self._labels or rising or last - first + 1 < self._confirm:
            return []
        if strength < label_onsets(self._adapter, least)[label]:
            return []
        part = list(self._rise)[first : last + 1]
        self._event = Span(
            label,
            max(part[0].middle - self._hop / 2, 0.0),
            part[-1].middle + self._hop / 2,
            strength,
            len(part),
            np.sum([heard.scores for heard in part], axis=0),
        )
        begun = (True, self._event)
        return [begun, *self._end()] if over or last < len(z) - 1 else [begun]

    def _go_on(self, event: Span, heard: Heard, floor: float) -> list[TrackChange]:
        z = float(heard.z[event.label - self._first])
        strength = max(event.strength, z)
        if z <= max(floor, strength / 2):
            return self._end()
        self._event = event._replace(
            end=heard.middle + self._hop / 2,
            strength=strength,
            windows=event.windows + 1,
            scores=event.scores + heard.scores,
        )
        return []

    def _end(self) -> list[TrackChange]:
        assert self._event is not None
        ended, self._event, self._spent = self._event, None, True
        self._rise.clear()
        return [(False, ended)]

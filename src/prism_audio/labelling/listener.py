"""Label sound while it comes: a window at a time, each alone, by the folded head of an adapter.

Three settings are independent: how much sound an answer looks at (``window``), how often there is
one (``hop``), and how many answers in a row must agree before they count (``confirm``). The encoder's
own window is fixed; a longer one is the pooled sound of several, each embedded once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prism_audio.audio.windows import Window, stream_windows
from prism_audio.errors import AudioError, InputError
from prism_audio.io.types import Float32
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place, refuse_other_encoder
from prism_audio.labelling.drift import Drift, Drifted
from prism_audio.labelling.events import Change, LabelledWindow
from prism_audio.labelling.labeller import Answer, Labeller
from prism_audio.labelling.live_events import LiveEvents
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder


# Seconds: the window that an adapter of long recordings suggests would answer too late.
LONGEST = 10.0


@dataclass(frozen=True)
class Pace:
    """When a stream is listened to.

    Attributes
    ----------
    window, hop : float
        Seconds of sound behind an answer, and from one answer to the next.
    confirm : int
        Answers in a row that must agree.
    grid : float
        Seconds between the windows of the encoder.
    pooled, every : int
        Windows of the encoder behind an answer, and from one answer to the next.
    """

    window: float
    hop: float
    confirm: int
    grid: float
    pooled: int
    every: int

    @classmethod
    def fit(
        cls,
        encoder: Encoder,
        window: float | None = None,
        hop: float | None = None,
        confirm: int = 1,
    ) -> Pace:
        """The pace nearest to what is wanted; by default the encoder's own window and hop.

        ``hop`` and ``confirm`` are kept as they are; ``window`` is rounded to whole windows of the
        encoder, of which it holds at least one.
        """
        window = encoder.window if window is None else window
        hop = encoder.hop if hop is None else hop
        if not (math.isfinite(hop) and hop * encoder.rate >= 1):
            raise InputError(f"hop is {hop} s; wanted a positive number of seconds")
        if not (math.isfinite(window) and window >= encoder.window - 1e-9):
            raise InputError(
                f"window is {window:g} s; the encoder {encoder.id} hears at least "
                f"{encoder.window:g} s at a time"
            )
        every = max(1, math.ceil(hop / encoder.hop - 1e-9))
        grid = hop / every
        pooled = 1 + round((window - encoder.window) / grid)
        return cls(encoder.window + (pooled - 1) * grid, hop, confirm, grid, pooled, every)

    @classmethod
    def for_adapter(
        cls,
        encoder: Encoder,
        adapter: Adapter,
        window: float | None = None,
        hop: float | None = None,
        confirm: int = 1,
    ) -> Pace:
        """The same; by default a window as long as the clips of the adapter's calibration."""
        if window is None:
            window = max(encoder.window, min(adapter.facts.seconds or 0.0, LONGEST))
        return cls.fit(encoder, window, hop, confirm)


@dataclass(frozen=True)
class WindowAnswer:
    """What is said of one window of a stream.

    Attributes
    ----------
    start, end : float
        Where the sound behind it lies, in seconds.
    answer : Answer
        Its label, scores and so on.
    embedding : (d,) array
        The vector that was labelled.
    """

    start: float
    end: float
    answer: Answer
    embedding: Float32 = field(compare=False, repr=False)


class Switched(NamedTuple):
    """The warm-up is over: from now on this adapter answers."""

    adapter: Adapter
    windows: int


Notice = WindowAnswer | Change | Switched | Drifted


class Listener:
    """A stream being labelled.

    Parameters
    ----------
    encoder : Encoder
        What embeds the sound.
    adapter : Adapter
        What labels it, at first or throughout.
    pace : Pace
        When it does.
    threshold : float, optional
        The least cosine that convinces; by default the adapter's own.
    warmup : int
        Calibrate on the first so many answers, then go on with what that gave.
    preset, place : str
        For that calibration.
    multi : bool
        Look for every label by itself, so that events of several may overlap.

    Attributes
    ----------
    adapter : Adapter
        The one in force.
    answers : int
        Answers so far.
    seconds : float
        Sound so far.
    """

    def __init__(
        self,
        encoder: Encoder,
        adapter: Adapter,
        pace: Pace,
        *,
        threshold: float | None = None,
        warmup: int = 0,
        preset: str = "default",
        place: str = "",
        multi: bool = False,
    ) -> None:
        refuse_other_encoder(adapter, encoder.fingerprint, encoder.id)
        self.encoder, self.pace = encoder, pace
        self.answers, self.seconds = 0, 0.0
        self._threshold = threshold
        self._warmup, self._preset, self._place = warmup, preset, place
        self._warm: list[WindowAnswer] | None = [] if warmup else None
        self._events = LiveEvents(
            adapter, pace.hop, pace.window, encoder.window, pace.confirm, multi
        )
        self._ended: deque[Change] = deque()  # events that a switch has cut off
        self._use(adapter)

    def hear(self, blocks: Iterable[Float32]) -> Iterator[Notice]:
        """Listen to mono float32 blocks at the encoder's rate until they end.

        Yields every answer (:class:`WindowAnswer`), the beginning and end of events, the switch after a
        warm-up, and when the sound stops looking like the calibration. Where reading fails, what was
        going on ends before the error comes.
        """
        try:
            yield from self._notices(blocks)
        except AudioError:
            yield from self._events.close()
            raise
        yield from self._events.close()

    def _notices(self, blocks: Iterable[Float32]) -> Iterator[Notice]:
        for window in self._answers(blocks):
            yield window
            answer = window.answer
            label = answer.best if answer.convinced else None
            labelled = LabelledWindow(window.start, window.end, label, answer.score)
            yield from self._events.add(labelled, window.embedding)
            if self._drift is not None and (
                drifted := self._drift.add(window.embedding, answer.index)
            ):
                yield drifted
            if self._warm is not None:
                self._warm.append(window)
                if len(self._warm) == self._warmup:
                    yield self._switch(self._warm)
                    self._warm = None
            while self._ended:
                yield self._ended.popleft()

    def switch_to(self, adapter: Adapter) -> Switched:
        """Go on with another adapter, whose labels may differ; events that were going on end."""
        self._ended += self._events.switch_to(adapter)
        self._use(adapter)
        return Switched(adapter, 0)

    def _use(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._labeller = Labeller(adapter, threshold=self._threshold)
        self._drift = Drift.of(adapter, self.pace.hop)

    def _switch(self, warm: list[WindowAnswer]) -> Switched:
        windows = [(answer.start, answer.end, answer.embedding) for answer in warm]
        batch = Batch.of_windows(windows, self.encoder)
        words = Vocabulary.of(self.adapter)
        adapter = calibrate_place(batch, words, place=self._place, preset=self._preset)
        return self.switch_to(adapter)._replace(windows=len(warm))

    def _answers(self, blocks: Iterable[Float32]) -> Iterator[WindowAnswer]:
        encoder, pace = self.encoder, self.pace
        held: deque[tuple[Window, Float32]] = deque(maxlen=pace.pooled)
        waiting = 0  # windows that no answer has taken in
        for window in stream_windows(encoder, blocks, pace.grid):
            held.append((window, encoder.embed_windows(window.samples[None])[0]))
            waiting += 1
            self.seconds = window.end
            if len(held) == pace.pooled and (self.answers == 0 or waiting >= pace.every):
                yield self._answer(held)
                waiting = 0
        if waiting:
            yield self._answer(held)

    def _answer(self, held: deque[tuple[Window, Float32]]) -> WindowAnswer:
        features = np.stack([features for _, features in held])
        weights = np.array([window.weight for window, _ in held], np.float32)
        embedding = self.encoder.pool(features, weights)
        self.answers += 1
        answer = self._labeller.answer_one(embedding)
        return WindowAnswer(held[0][0].start, held[-1][0].end, answer, embedding)

"""A recording while it is being embedded, and the result: an embedded clip or a failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.windows import Window
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.io.types import Float32

# Of a batch; in seconds, because a window may be 1 s or 10 s long and it is memory that this bounds.
BATCH_SECONDS = 64.0


@dataclass(frozen=True)
class Clip:
    """One recording, embedded."""

    path: Path  # the file
    embedding: Float32  # (d,): its unit vector
    # (B, f): the encoder's features of its B windows; or their mean, with B = 1.
    features: Float32
    # (B,): where they lie, in seconds.
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    weight: Float32  # (B,): seconds of real sound heard for each
    group: int  # the group of files whose batches it shared

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return float(self.end[-1])

    def rows(self, encoder: Encoder) -> Float32:
        """A unit vector (B, d) for each of the features."""
        each = range(len(self.features))
        return np.stack(
            [encoder.pool(self.features[i : i + 1], self.weight[i : i + 1]) for i in each]
        )


@dataclass(frozen=True)
class Failure:
    """A recording that could not be embedded, and why."""

    path: Path
    reason: str
    group: int = 0


class WindowSpan(NamedTuple):
    """A window without its samples."""

    start: float
    end: float
    weight: float


@dataclass
class OpenClip:
    """A recording some of whose windows are still to be decoded or embedded."""

    path: Path
    group: int
    per_window: bool
    sent: int = 0
    taken: int = 0
    seconds: float = 0.0
    spans: list[WindowSpan] = field(default_factory=list)
    features: list[NDArray[np.floating]] = field(default_factory=list)
    reason: str = ""
    decoded: bool = False

    @property
    def done(self) -> bool:
        """Whether all its windows have come back."""
        return self.decoded and self.taken == self.sent

    def take(self, span: WindowSpan, features: Float32) -> None:
        """Keep a window's features, or add them to those of the windows before."""
        self.taken += 1
        if self.per_window:
            self.spans.append(span)
            self.features.append(features)
            return
        weight, total = span.weight, span.weight * features.astype(np.float64)
        if self.spans:
            weight, total = self.spans[0].weight + weight, self.features[0] + total
        self.spans, self.features = [WindowSpan(0.0, span.end, weight)], [total]

    def close(self, encoder: Encoder) -> Clip | Failure:
        """Pool the features into the result."""
        if self.reason or not self.spans:
            return Failure(self.path, self.reason or "it holds no sound", self.group)
        start, end, weight = np.array(self.spans, dtype=np.float64).T
        features = np.stack(self.features)
        if not self.per_window:
            features = features / weight
        features, weights = features.astype(np.float32), weight.astype(np.float32)
        try:
            embedding = encoder.pool(features, weights)
        except PrismError as error:
            return Failure(self.path, str(error), self.group)
        if not np.isfinite(embedding).all():
            reason = f"the encoder {encoder.id} gave it values that are not finite"
            return Failure(self.path, reason, self.group)
        return Clip(self.path, embedding, features, start, end, weights, self.group)


def embed_into(
    clips: Sequence[OpenClip],
    encoder: Encoder,
    windows: Iterable[Window],
    batch_seconds: float = BATCH_SECONDS,
) -> None:
    """Embed windows in batches of about ``batch_seconds``; every clip takes all features."""
    rest, size = iter(windows), max(1, int(batch_seconds / encoder.window))
    while batch := list(islice(rest, size)):
        features = encoder.embed_windows(np.stack([window.samples for window in batch]))
        for window, row in zip(batch, features, strict=True):
            for clip in clips:
                clip.take(WindowSpan(window.start, window.end, window.weight), row)

"""Embedding queue: windows of many requests share the batches of one encoder.

A thread takes whatever waits, up to a batch, so batches grow by themselves under load and a lone
request never waits for company. What is urgent (a request, a stream) goes before what is not (a
calibration). An encoder lets no window of a batch influence another, so a recording gets the same
embedding as alone.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from prism_audio.encoders.protocol import Encoder
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32

# Seconds of sound in a batch: it bounds how long an urgent window waits for the one under way.
BATCH_SECONDS = 32.0
URGENT, PATIENT = 0, 1


@dataclass(order=True)
class _Ticket:
    priority: int
    number: int
    windows: Float32 = field(compare=False)
    features: Future[Float32] = field(compare=False)


class EmbeddingQueue:
    """Threads that embed windows in batches.

    Attributes
    ----------
    windows, batches : int
        Embedded so far.
    """

    def __init__(self, encoder: Encoder, threads: int | None = None) -> None:
        self.encoder = encoder
        self.windows = self.batches = 0
        self._most = max(1, int(BATCH_SECONDS / encoder.window))
        self._waiting: list[_Ticket] = []
        self._numbers = count()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"embed-{i}", daemon=True)
            for i in range(threads or usable_cores())
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Windows that no thread has taken yet."""
        with self._changed:
            return sum(len(ticket.windows) for ticket in self._waiting)

    def embed(self, windows: Float32, priority: int) -> Float32:
        """Features of windows; waits for them. Call it from a thread, never from the event loop."""
        ticket = _Ticket(priority, next(self._numbers), windows, Future())
        with self._changed:
            if self._closed:
                raise RuntimeError("the embedding queue is closed")
            heapq.heappush(self._waiting, ticket)
            self._changed.notify()
        return ticket.features.result()

    def close(self) -> None:
        """Embed what still waits, then end the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while batch := self._take():
            try:
                rows = self.encoder.embed_windows(np.concatenate([t.windows for t in batch]))
            except BaseException as error:  # whoever waits for it must be told, whatever it is
                for ticket in batch:
                    ticket.features.set_exception(error)
                continue
            at = 0
            for ticket in batch:
                ticket.features.set_result(rows[at : at + len(ticket.windows)])
                at += len(ticket.windows)
            with self._changed:
                self.windows += at
                self.batches += 1

    def _take(self) -> list[_Ticket]:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            batch: list[_Ticket] = []
            size = 0
            while self._waiting and (
                not batch or size + len(self._waiting[0].windows) <= self._most
            ):
                batch.append(heapq.heappop(self._waiting))
                size += len(batch[-1].windows)
            return batch


class SharedEncoder:
    """An encoder whose windows are embedded together with those of other requests."""

    def __init__(self, queue: EmbeddingQueue, priority: int) -> None:
        inner = queue.encoder
        self.id, self.fingerprint, self.dim = inner.id, inner.fingerprint, inner.dim
        self.rate, self.window, self.hop = inner.rate, inner.window, inner.hop
        self._queue, self._priority = queue, priority
        if (pad := getattr(inner, "pad", None)) is not None:
            self.pad = pad

    def embed_windows(self, windows: Float32) -> Float32:
        """Features of the windows."""
        return self._queue.embed(windows, self._priority)

    def pool(self, features: Float32, weights: Float32) -> Float32:
        """One unit vector for the features of a recording."""
        return self._queue.encoder.pool(features, weights)

    def embed_text(self, texts: Sequence[str]) -> Float32:
        """Unit rows of texts."""
        return self._queue.encoder.embed_text(texts)

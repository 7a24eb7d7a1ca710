"""Embed the recordings of requests: each sound once, on threads, in batches that all requests share.

A batch of :class:`EmbeddingQueue` is whatever waits, so batches grow by themselves under load and a
lone request never waits for company. Streams go before requests, and those before calibrations. An
encoder lets no window of a batch influence another, so a recording gets the same embedding as alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from prism_audio.audio.windows import Window, encoder_windows
from prism_audio.encoders.embedding.clips import Failure, OpenClip, embed_into
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32
from prism_audio.serve.errors import ApiError, too_slow
from prism_audio.serve.row_cache import EmbeddedRecording, RowCache
from prism_audio.serve.settings import Limits
from prism_audio.serve.uploads import Recording

# Seconds of sound in a batch: it bounds how long an urgent window waits for the one under way.
BATCH_SECONDS = 16.0
# Seconds of sound of one recording in a batch, so that none takes the encoder for long.
PIECE_SECONDS = 16.0
# Recordings of one request that are decoded at once: more would let a large one push others back.
AT_ONCE = 2
# Seconds that a thread waits for its turn to decode.
LONGEST_TURN = 0.5
LIVE, URGENT, PATIENT = 0, 1, 2
_CHUNK = 1 << 20

Result = TypeVar("Result")


class Embedder:
    """Embeds recordings on threads, and keeps what it has embedded.

    Attributes
    ----------
    encoder, live : Encoder
        What embeds, and the same for streams, whose windows go before all others.
    rows : RowCache
        What was embedded before.
    """

    def __init__(self, encoder: Encoder, limits: Limits, folder: Path | None) -> None:
        self.encoder, self._limits = encoder, limits
        self.rows = RowCache(encoder.dim, folder)
        self._turns = threading.Semaphore(max(1, usable_cores() // 2))

    def start(self) -> None:
        """Start the threads."""
        self.queue = EmbeddingQueue(self.encoder)
        self.live = cast(Encoder, SharedEncoder(self.queue, LIVE))
        # More than cores: while one waits for the encoder the others decode for its next batch.
        self._threads = ThreadPoolExecutor(8 * usable_cores(), thread_name_prefix="decode")
        self._background = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="calibrate")

    def close(self) -> None:
        """End the threads."""
        for pool in (self._threads, self._background):
            pool.shutdown(cancel_futures=True)
        self.rows.close()

    async def embed(
        self,
        recordings: Sequence[Recording],
        until: float | None,
        then: Callable[[EmbeddedRecording], Result],
    ) -> list[Result | ApiError]:
        """Embed recordings, and give each to a function on the same thread: its results, or the errors.

        Without a time ``until`` which somebody waits, this goes on behind urgent requests.
        """
        pool = self._background if until is None else self._threads
        priority = PATIENT if until is None else URGENT

        def work(part: Sequence[Recording]) -> list[Result | ApiError]:
            turn = _Turn(self._turns)
            encoder = cast(Encoder, SharedEncoder(self.queue, priority, turn))
            results: list[Result | ApiError] = []
            for recording in part:
                try:
                    with turn:
                        embedded = self._embed_once(recording, encoder, until)
                    results.append(then(embedded))
                except ApiError as error:
                    if error.file is None:  # the request is to blame, not the recording
                        raise
                    results.append(error)
            return results

        loop, parts = asyncio.get_running_loop(), min(AT_ONCE, len(recordings))
        done = await asyncio.gather(
            *(loop.run_in_executor(pool, work, recordings[i::parts]) for i in range(parts))
        )
        return [done[i % parts][i // parts] for i in range(len(recordings))]

    def _embed_once(
        self, recording: Recording, encoder: Encoder, until: float | None
    ) -> EmbeddedRecording:
        digest = hashlib.sha256(encoder.fingerprint.encode())
        for offset in range(0, recording.size, _CHUNK):
            digest.update(recording.read_at(offset, _CHUNK))
        row = digest.hexdigest()[:32]
        if (known := self.rows.get(row)) is not None:
            return replace(known, file=recording.name)
        clip = OpenClip(Path(recording.name), 0, per_window=True)
        embed_into([clip], encoder, self._windows(recording, encoder, until), PIECE_SECONDS)
        result = clip.close(encoder)
        if isinstance(result, Failure):
            raise _unusable(recording, result.reason)
        embedded = EmbeddedRecording(
            recording.name,
            row,
            result.embedding,
            result.start,
            result.end,
            result.rows(encoder),
            tuple(recording.warnings),
        )
        self.rows.put(embedded)
        return embedded

    def _windows(
        self, recording: Recording, encoder: Encoder, until: float | None
    ) -> Iterator[Window]:
        """The windows of a recording, within the limits, which are kept while it is decoded."""
        try:
            for window in encoder_windows(encoder, recording):
                if until is not None and time.monotonic() > until:
                    raise too_slow(self._limits.request_seconds)
                if window.end > (longest := self._limits.seconds):
                    message = (
                        f"it is longer than {longest:g} s, the longest recording taken; cut it"
                    )
                    raise ApiError(422, "too_long", message, file=recording.name)
                yield window
        except ApiError:
            raise
        except PrismError as error:  # its message begins with the file, which the answer names
            raise _unusable(recording, str(error).removeprefix(f"{recording.name}: ")) from None
        except Exception as error:  # an unexpected decoder error must not fail the others
            raise _unusable(recording, f"it cannot be decoded ({type(error).__name__})") from error


def _unusable(recording: Recording, reason: str) -> ApiError:
    return ApiError(422, "bad_audio", reason, file=recording.name)


@dataclass(order=True)
class _Ticket:
    """Windows to embed; a thread that waits holds ``changed`` until they are done, or it ``leads``."""

    priority: int
    number: int
    windows: Float32 = field(compare=False)
    leads: bool = field(compare=False, default=False)
    changed: threading.Lock = field(compare=False, default_factory=threading.Lock)
    result: Float32 | BaseException | None = field(compare=False, default=None)


class EmbeddingQueue:
    """Windows embedded in batches; ``windows`` and ``batches`` count what is done.

    It has no threads of its own: up to ``threads`` of those that wait embed what is most urgent, for
    the others too, and each hands its turn on once its own windows are done.
    """

    def __init__(self, encoder: Encoder, threads: int | None = None) -> None:
        self.encoder = encoder
        self.windows = self.batches = 0
        self._most = max(1, int(BATCH_SECONDS / encoder.window))
        self._waiting: list[_Ticket] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._turns = threads or usable_cores()

    @property
    def waiting(self) -> int:
        """Windows that no thread has taken yet."""
        with self._lock:
            return sum(len(ticket.windows) for ticket in self._waiting)

    def embed(self, windows: Float32, priority: int) -> Float32:
        """Features of windows; waits for them. Call it from a thread, never from the event loop."""
        ticket = _Ticket(priority, next(self._numbers), windows)
        with self._lock:
            ticket.leads = self._turns > 0 or priority == LIVE  # a stream never waits for a turn
            if ticket.leads:
                self._turns -= 1
            else:
                heapq.heappush(self._waiting, ticket)
                ticket.changed.acquire()
        if not ticket.leads:
            ticket.changed.acquire()  # until another thread releases it
        if ticket.leads:
            self._embed_batch(ticket)
            self._hand_on()
        if isinstance(ticket.result, BaseException):
            raise ticket.result
        assert ticket.result is not None
        return ticket.result

    def _embed_batch(self, own: _Ticket) -> None:
        """Embed windows of this thread, and of others that wait; those of a stream go alone."""
        batch, size = [own], len(own.windows)
        most = 0 if own.priority == LIVE else self._most
        with self._lock:
            while self._waiting and size + len(self._waiting[0].windows) <= most:
                batch.append(heapq.heappop(self._waiting))
                size += len(batch[-1].windows)
        try:
            rows = self.encoder.embed_windows(np.concatenate([t.windows for t in batch]))
            ends = np.cumsum([len(ticket.windows) for ticket in batch])
            results: Sequence[Float32 | BaseException] = np.split(rows, ends[:-1])
        except BaseException as error:  # whoever waits for it must be told, whatever it is
            results = [error] * len(batch)
        for ticket, result in zip(batch, results, strict=True):
            ticket.result = result
            if ticket is not own:
                ticket.changed.release()
        with self._lock:
            self.windows += size
            self.batches += 1

    def _hand_on(self) -> None:
        """Let the most urgent thread that waits embed next."""
        with self._lock:
            self._turns += 1
            if self._turns > 0 and self._waiting:
                self._turns -= 1
                following = heapq.heappop(self._waiting)
                following.leads = True
                following.changed.release()


class _Turn:
    """The turn of a thread to decode and to count: more at a time would only fight for Python's lock.

    Nobody waits long for it, because a decoder that hangs must not stop the others.
    """

    def __init__(self, turns: threading.Semaphore) -> None:
        self._turns, self._held = turns, False

    def __enter__(self) -> None:
        self._held = self._turns.acquire(timeout=LONGEST_TURN)

    def __exit__(self, *error: object) -> None:
        if self._held:
            self._turns.release()
        self._held = False


class SharedEncoder:
    """An encoder whose windows are embedded together with those of other requests.

    A thread that has a ``turn`` gives it up while it waits for them.
    """

    def __init__(self, queue: EmbeddingQueue, priority: int, turn: _Turn | None = None) -> None:
        self._queue, self._priority, self._turn = queue, priority, turn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue.encoder, name)

    def embed_windows(self, windows: Float32) -> Float32:
        """Features of the windows."""
        if self._turn is None:
            return self._queue.embed(windows, self._priority)
        self._turn.__exit__()
        try:
            return self._queue.embed(windows, self._priority)
        finally:
            self._turn.__enter__()

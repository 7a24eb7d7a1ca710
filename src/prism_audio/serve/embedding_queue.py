"""The queue to the encoder: a few threads decode, embed and finish what all requests bring.

A thread takes what is most urgent, decodes some of it, embeds that in one batch, and lets each task
go on with its rows. So a recording stays on one thread from its first byte to its answer: handing it
from thread to thread costs more than decoding it.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate, count, pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from prism_audio.encoders.protocol import Encoder
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32

# Seconds of sound in a batch: it bounds how long others wait for the one under way.
BATCH_SECONDS = 16.0
# Seconds that others wait while a thread decodes or finishes some tasks, which takes a few thousandths.
TURN_SECONDS = 0.05
# Seconds after which a thread that decodes is taken to hang, and another one works in its place.
LONGEST_TURN = 0.5
# Seconds that a task lets later ones go before it: a request, and a calibration.
URGENT, PATIENT = 0.0, 0.1

Result = TypeVar("Result")
# A task yields windows to embed, and is sent their rows; it yields none to let others go first.
Steps: TypeAlias = Generator[Sequence[Float32], Float32 | None, Result]


@dataclass(order=True)
class _Task:
    """Steps on their way, first those that are ``due``; ``windows`` wait to be embedded."""

    due: float
    number: int
    patience: float = field(compare=False)
    steps: Steps[Any] = field(compare=False)
    done: asyncio.Future[Any] = field(compare=False)
    windows: Sequence[Float32] = field(compare=False, default=())


class EmbeddingQueue:
    """Tasks in turn; ``windows`` and ``batches`` count what was embedded.

    Parameters
    ----------
    encoder : Encoder
        What embeds. It lets no window of a batch influence another.
    threads : int, optional
        Threads at work; by default one for every core. Others stand by for those that hang.
    """

    def __init__(self, encoder: Encoder, threads: int | None = None) -> None:
        self.encoder = encoder
        self.windows = self.batches = 0
        self._most = max(1, int(BATCH_SECONDS / encoder.window))
        self._threads = threads or usable_cores()
        self._pool = ThreadPoolExecutor(8 * self._threads, thread_name_prefix="embed")
        self._lock, self._turn, self._turn_ends = threading.Lock(), threading.Lock(), 0.0
        self._tasks: list[_Task] = []
        self._numbers = count()
        self._watched = False
        # The threads at work, and since when each decodes; infinite while it embeds.
        self._since: dict[int, float] = {}

    @property
    def waiting(self) -> int:
        """Tasks that no thread has taken yet."""
        return len(self._tasks)

    def close(self) -> None:
        """End the threads; what waits is dropped."""
        with self._lock:
            self._tasks.clear()
        self._pool.shutdown(cancel_futures=True)

    def put(self, steps: Steps[Result], patience: float) -> asyncio.Future[Result]:
        """Run steps to their end; a future that is cancelled ends them before."""
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._push(_Task(0.0, 0, patience, steps, done))
        if not self._watched:
            self._watch()
        return done

    def _watch(self) -> None:
        """While tasks wait, see from time to time whether those at work hang."""
        self._wake()
        self._watched = bool(self._tasks)
        if self._watched:
            asyncio.get_running_loop().call_later(LONGEST_TURN, self._watch)

    def _wake(self) -> None:
        """Set a thread to work where tasks wait and fewer are at work than may be."""
        with self._lock:
            if not self._tasks or self._busy() >= self._threads:
                return
            number = next(self._numbers)
            self._since[number] = time.monotonic()
        self._pool.submit(self._work, number)

    def _busy(self) -> int:
        late = time.monotonic() - LONGEST_TURN
        return sum(since > late for since in self._since.values())

    def _push(self, task: _Task) -> None:
        task.due, task.number = time.monotonic() + task.patience, next(self._numbers)
        with self._lock:
            heapq.heappush(self._tasks, task)
        self._wake()

    def _work(self, me: int) -> None:
        """Take tasks until none waits, or enough other threads are at work."""
        while True:
            with self._lock:
                if not self._tasks or self._busy() > self._threads:
                    del self._since[me]
                    return
                share = -(-len(self._tasks) // self._threads)
            ended: list[_Ended] = []
            with self._alone():
                batch = self._decode(me, share, ended)
            if batch:
                self._since[me] = math.inf
                self._embed(batch, ended)
            if ended:
                with suppress(RuntimeError):  # the loop may be closed by then
                    ended[0][0].get_loop().call_soon_threadsafe(_settle, ended)

    def _decode(self, me: int, share: int, ended: list[_Ended]) -> list[_Task]:
        """Take tasks up to a share of them, and so far that each has windows, for one batch."""
        batch: list[_Task] = []
        size = 0
        for _ in range(share):
            with self._lock:
                if size >= self._most or not self._tasks:
                    break
                task = heapq.heappop(self._tasks)
            self._since[me] = time.monotonic()
            if not len(task.windows):
                self._go_on(task, None, ended)
            if not len(task.windows):
                continue
            if batch and size + len(task.windows) > self._most:
                with self._lock:
                    heapq.heappush(self._tasks, task)
                break
            batch.append(task)
            size += len(task.windows)
        return batch

    def _embed(self, batch: list[_Task], ended: list[_Ended]) -> None:
        """Embed the windows of tasks, and let each go on with its rows."""
        ends = list(accumulate(len(task.windows) for task in batch))
        results: list[Float32 | BaseException]
        try:
            windows = np.stack([window for task in batch for window in task.windows])
            rows = self.encoder.embed_windows(windows)
            results = [rows[a:b] for a, b in pairwise((0, *ends))]
        except BaseException as error:  # whoever waits for it must be told, whatever it is
            results = [error] * len(batch)
        with self._lock:
            self.windows += ends[-1]
            self.batches += 1
        with self._alone():
            for task, result in zip(batch, results, strict=True):
                self._go_on(task, result, ended)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The turn of one thread to decode and to finish: more would only fight for Python's lock.

        Nobody waits for one that takes long: it may hang, or have hours of sound to label.
        """
        held = self._turn.acquire(timeout=max(0.0, self._turn_ends - time.monotonic()))
        if held:
            self._turn_ends = time.monotonic() + TURN_SECONDS
        try:
            yield
        finally:
            if held:
                self._turn.release()

    def _go_on(
        self, task: _Task, given: Float32 | BaseException | None, ended: list[_Ended]
    ) -> None:
        """Let a task go on to its next windows, to a pause, or to its end."""
        try:
            if task.done.cancelled():
                task.steps.close()
                return
            if isinstance(given, BaseException):
                task.windows = task.steps.throw(given)
            else:
                task.windows = task.steps.send(given)
        except StopIteration as end:
            task.windows = ()
            ended.append((task.done, end.value, None))
        except BaseException as error:
            task.windows = ()
            ended.append((task.done, None, error))
        else:
            if not len(task.windows) or given is not None:
                self._push(task)


_Ended: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]


def _settle(ended: list[_Ended]) -> None:
    for done, result, error in ended:
        if done.done():
            continue
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

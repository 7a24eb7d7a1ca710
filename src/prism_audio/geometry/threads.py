"""Threads for calibration: BLAS on one, and independent parts of the work side by side on a few of ours.

A BLAS brings threads of its own, which spin while they wait: on small matrices they cost more than they
give (a QR of 512 x 100 took eight times as long on two threads as on one), and on a busy machine they
take the time of others for nothing. So BLAS computes on one thread (:func:`bounded_threads`), and
independent parts, such as blocks of rows, run side by side (:func:`side_by_side`). That works with
NumPy's products and factorisations; SciPy's do not let other threads run at the same time.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain, islice
from threading import Lock, local
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# More threads than this wait for memory rather than compute.
MOST_THREADS = 8


class _Threads:
    """The pool of this process: open while anybody needs it, with BLAS on one thread meanwhile."""

    def __init__(self) -> None:
        self.pool: ThreadPoolExecutor | None = None
        self.size = 1
        self._users = 0
        self._lock = Lock()
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limit = _blas(len(sys.modules)).limit(limits=1, user_api="blas")
                self.size = min(_cores(), MOST_THREADS)
                # One less, because the thread that asks works too.
                self.pool = ThreadPoolExecutor(self.size - 1, "prism") if self.size > 1 else None

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self.pool is not None:
                self.pool.shutdown(wait=False)
            self.pool = None
            self._limit.restore_original_limits()


class _Task(Generic[Result]):
    """A piece of work for whichever thread begins it first."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self.done: Future[Result] = Future()
        self._work = work
        self._begun = Lock()

    def run(self) -> bool:
        """Do it, unless somebody has begun; whether it was done here."""
        if not self._begun.acquire(blocking=False):
            return False
        outside, _LOCAL.within_task = _within_task(), True
        try:
            self.done.set_result(self._work())
        except BaseException as error:
            self.done.set_exception(error)
        _LOCAL.within_task = outside
        return True


def _within_task() -> bool:
    return getattr(_LOCAL, "within_task", False)


@lru_cache(1)
def _blas(_modules: int) -> ThreadpoolController:
    """The BLAS libraries of this process; to look for them takes milliseconds, so only after imports."""
    return ThreadpoolController()


_LOCAL = local()
_THREADS = _Threads()
if hasattr(os, "register_at_fork"):  # threads do not live on in a child
    os.register_at_fork(after_in_child=_THREADS.__init__)  # type: ignore[misc]


@contextmanager
def bounded_threads() -> Iterator[None]:
    """BLAS on one thread, and one of ours for every core (this one too), as long as the block lasts."""
    _THREADS.enter()
    try:
        yield
    finally:
        _THREADS.leave()


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``map(work, items)``, several at a time within :func:`bounded_threads`; in order.

    Items are taken as they are needed. Within ``work`` this is a plain ``map``.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    pool = None if _within_task() else _THREADS.pool
    if pool is None or len(first) < 2:
        yield from map(work, chain(first, rest))
        return
    pending: deque[_Task[Result]] = deque()
    for item in chain(first, rest):
        pending.append(_Task(partial(work, item)))
        pool.submit(pending[-1].run)
        if len(pending) > _THREADS.size:
            yield _first_result(pending)
    while pending:
        yield _first_result(pending)


def _first_result(pending: deque[_Task[Result]]) -> Result:
    """The result of the first task, taken out; this thread works on the others while it waits."""
    while not pending[0].done.done() and any(task.run() for task in pending):
        pass
    return pending.popleft().done.result()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

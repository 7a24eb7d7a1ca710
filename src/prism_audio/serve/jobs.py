"""Calibrations: they wait in line, run one at a time, tell how far they are, and are kept a while."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from prism_audio.errors import PrismError
from prism_audio.serve.refusal import Refusal, busy

log = logging.getLogger(__name__)

# Finished jobs whose results can still be asked for.
KEPT = 32


@dataclass(eq=False)
class Job:
    """A calibration on its way.

    Attributes
    ----------
    site : str
        The place it is for.
    total : int
        Recordings or rows it has.
    state : str
        ``waiting``, ``running``, ``done`` or ``failed``.
    stage : str, optional
        ``reading``, ``calibrating`` or ``storing``.
    done : int
        Recordings that were read.
    error, result : dict, optional
        Why it failed; what it found.
    """

    site: str
    total: int
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "waiting"
    stage: str | None = None
    done: int = 0
    error: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    _began: float = 0.0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def finished(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ("done", "failed")

    def begin(self, stage: str) -> None:
        """It is at another stage now."""
        self.state, self.stage = "running", stage
        self._began = time.monotonic()
        self._tell()

    def step(self) -> None:
        """One more recording was read."""
        self.done += 1
        self._tell()

    def finish(self, result: dict[str, Any]) -> None:
        """It went well."""
        self.state, self.result = "done", result
        self._tell()

    def fail(self, code: str, message: str) -> None:
        """It did not."""
        self.state, self.error = "failed", {"code": code, "message": message, "file": None}
        self._tell()

    def document(self, *, result: bool = True) -> dict[str, Any]:
        """What clients are told of it."""
        return {
            "job": self.id,
            "site": self.site,
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "seconds_left": self._left(),
            "error": self.error,
            "result": self.result if result else None,
        }

    async def changes(self, every: float) -> AsyncIterator[bool]:
        """Yield True now and after changes until it is finished; False after ``every`` quiet seconds."""
        while not self.finished:
            changed = self._changed
            yield True
            while True:
                try:
                    await asyncio.wait_for(changed.wait(), every)
                    break
                except TimeoutError:
                    yield False
        yield True

    def _left(self) -> float | None:
        if self.state != "running" or self.stage != "reading" or not self.done:
            return None
        took = time.monotonic() - self._began
        return round(took / self.done * (self.total - self.done), 1)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


Work = Callable[[Job], Awaitable[dict[str, Any]]]


class Jobs:
    """The line of calibrations; used from the event loop alone.

    Attributes
    ----------
    finished, failed : int
        How many went well, and how many did not.
    """

    def __init__(self, most_waiting: int) -> None:
        self._most = most_waiting + 1  # and the one that runs
        self._taken = 0
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._line: asyncio.Queue[tuple[Job, Work]] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._idle.set()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        self.finished = self.failed = 0

    @property
    def waiting(self) -> int:
        """Calibrations that wait or run."""
        return self._taken

    def start(self) -> None:
        """Begin to work; needs a running event loop."""
        self._worker = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Stop at once; call :meth:`all_done` first to lose nothing."""
        self._closed = True
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def all_done(self) -> None:
        """Wait until the line is empty."""
        await self._idle.wait()

    def get(self, id: str) -> Job:
        """The job of that number."""
        if (job := self._jobs.get(id)) is None:
            raise Refusal(
                404, "unknown_job", f"there is no job {id[:40]!r}; the last {KEPT} are kept"
            )
        return job

    @contextmanager
    def room(self) -> Iterator[Callable[[Job, Work], None]]:
        """A place in the line, kept while a request is being received.

        Gives a function that puts a job there; where it is not called the place is free again.
        """
        if self._taken >= self._most:
            raise busy(f"{self._taken} calibrations wait or run, which is the most at a time", 10)
        self._take()
        submitted = False

        def submit(job: Job, work: Work) -> None:
            nonlocal submitted
            submitted = True
            self._keep(job)
            self._line.put_nowait((job, work))

        try:
            yield submit
        finally:
            if not submitted:
                self._free()

    def _keep(self, job: Job) -> None:
        self._jobs[job.id] = job
        over = len(self._jobs) - KEPT - self._most
        for id in [id for id, old in self._jobs.items() if old.finished][: max(0, over)]:
            del self._jobs[id]

    def _take(self) -> None:
        self._taken += 1
        self._idle.clear()

    def _free(self) -> None:
        self._taken -= 1
        if not self._taken:
            self._idle.set()

    async def _work(self) -> None:
        # Asked every time: work that fails while it is cancelled hides the cancellation.
        while not self._closed:
            job, work = await self._line.get()
            try:
                job.finish(await work(job))
                self.finished += 1
            except Refusal as error:
                self._failed(job, error.code, str(error))
            except PrismError as error:
                self._failed(job, "calibration_failed", str(error))
            except Exception:
                log.exception("the calibration %s of %s failed", job.id, job.site)
                self._failed(job, "internal", "the service failed at this calibration; see its log")
            finally:
                self._free()

    def _failed(self, job: Job, code: str, message: str) -> None:
        self.failed += 1
        job.fail(code, message)

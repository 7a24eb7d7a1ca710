"""Job queue: calibrations run one at a time, report progress, and are kept for a while."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from prism_audio.errors import PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.serve.errors import ApiError, busy
from prism_audio.serve.job import Job
from prism_audio.serve.site_schemas import CalibrationResult, JobSummary

log = logging.getLogger(__name__)

# Finished jobs whose results can still be asked for.
KEPT = 32

Work = Callable[[Job], Awaitable[CalibrationResult]]


class Jobs:
    """The queue of calibrations; used from the event loop alone.

    Parameters
    ----------
    most_waiting : int
        Jobs that may wait beside the one that runs.
    ended : callable
        Called with every job after its end.
    folder : path, optional
        Where the last results are kept, so that they outlive the service.
    """

    def __init__(
        self, most_waiting: int, ended: Callable[[Job], None], folder: Path | None = None
    ) -> None:
        self._most, self._ended, self._folder = most_waiting + 1, ended, folder
        self._running: tuple[Job, asyncio.Task[CalibrationResult]] | None = None
        self._taken = 0
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: asyncio.Queue[tuple[Job, Work]] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._idle.set()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        if folder is not None:
            self._read(folder)

    @property
    def waiting(self) -> int:
        """Calibrations that wait or run."""
        return self._taken

    def start(self) -> None:
        """Begin to work; needs a running event loop."""
        self._worker = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Stop at once; call :meth:`wait_idle` first to lose nothing."""
        self._closed = True
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def wait_idle(self) -> None:
        """Wait until the queue is empty."""
        await self._idle.wait()

    def get(self, id: str) -> Job:
        """The job of that number."""
        if (job := self._jobs.get(id)) is None:
            raise ApiError(
                404, "unknown_job", f"there is no job {id[:40]!r}; the last {KEPT} are kept"
            )
        return job

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def cancel(self, id: str) -> Job:
        """Stop a job that waits or runs."""
        job = self.get(id)
        if job.finished:
            raise ApiError(409, "job_ended", f"the job {id} has ended already: {job.state}")
        job.cancel()
        if self._running is not None and self._running[0] is job:
            self._running[1].cancel()
        return job

    @contextmanager
    def place(self) -> Iterator[Callable[[Job, Work], None]]:
        """Reserve a place in the queue while a request is being received.

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
            self._queue.put_nowait((job, work))

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
            job, work = await self._queue.get()
            try:
                if not job.finished:
                    await self._run(job, work)
            except ApiError as error:
                job.fail(error)
            except PrismError as error:
                job.fail(ApiError(422, "calibration_failed", str(error)))
            except Exception:
                log.exception("the calibration %s of %s failed", job.id, job.site)
                message = "the service failed at this calibration; see its log"
                job.fail(ApiError(500, "internal", message))
            finally:
                self._free()
                self._running = None
                self._ended(job)
                self._write(job)

    async def _run(self, job: Job, work: Work) -> None:
        async def result() -> CalibrationResult:
            return await work(job)

        task = asyncio.create_task(result())
        self._running = (job, task)
        try:
            job.finish(await task)
        except asyncio.CancelledError:
            if job.state != "cancelled":  # the service ends, not the job alone
                task.cancel()
                raise

    def _read(self, folder: Path) -> None:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime):
                with suppress(OSError, ValidationError):
                    job = Job.of(JobSummary.model_validate_json(path.read_bytes()))
                    self._jobs[job.id] = job

    def _write(self, job: Job) -> None:
        if self._folder is None:
            return
        with suppress(OSError, PrismError):  # a full disk costs the record, not the calibration
            with atomic_write(self._folder / f"{job.id}.json") as file:
                file.write(job.summary().model_dump_json().encode())
            for path in self._folder.glob("*.json"):
                if path.stem not in self._jobs:
                    path.unlink()

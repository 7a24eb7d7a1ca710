"""A calibration on its way: its state, its stage, how far it is, and how it ended."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from prism_audio.serve.errors import ApiError
from prism_audio.serve.site_schemas import CalibrationResult, JobSummary

State = Literal["waiting", "running", "done", "failed", "cancelled"]
Stage = Literal["reading", "calibrating", "storing"]


@dataclass(eq=False)
class Job:
    """A calibration and its progress.

    Attributes
    ----------
    site : str
        The place it is for.
    total, done : int
        Recordings or rows it has, and recordings that were read.
    error, result : optional
        Why it failed; what it found.
    """

    site: str
    total: int
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "waiting"
    stage: Stage | None = None
    done: int = 0
    error: ApiError | None = None
    result: CalibrationResult | None = None
    _began: float = 0.0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def finished(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ("done", "failed", "cancelled")

    def begin(self, stage: Stage) -> None:
        """Enter another stage."""
        self.state, self.stage = "running", stage
        self._began = time.monotonic()
        self._notify()

    def step(self) -> None:
        """Count one more recording that was read."""
        self.done += 1
        self._notify()

    def finish(self, result: CalibrationResult) -> None:
        """End with a result."""
        self.state, self.result = "done", result
        self._notify()

    def fail(self, error: ApiError) -> None:
        """End with an error."""
        self.state, self.error = "failed", error
        self._notify()

    def cancel(self) -> None:
        """End without a result, because a client wants so."""
        self.state = "cancelled"
        self._notify()

    @classmethod
    def of(cls, summary: JobSummary) -> Job:
        """A job of an earlier run of the service."""
        job = cls(summary.site, summary.total, summary.job, summary.state, summary.stage)
        job.done, job.result = summary.done, summary.result
        if (error := summary.error) is not None:
            job.error = ApiError(error.status, error.code, error.detail, file=error.file)
        return job

    def summary(self, *, result: bool = True) -> JobSummary:
        """The job as clients see it, with its result or without."""
        return JobSummary(
            job=self.id,
            site=self.site,
            state=self.state,
            stage=self.stage,
            done=self.done,
            total=self.total,
            seconds_left=self._seconds_left(),
            error=self.error.problem if self.error else None,
            result=self.result if result else None,
        )

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

    def _seconds_left(self) -> float | None:
        if self.state != "running" or self.stage != "reading" or not self.done:
            return None
        took = time.monotonic() - self._began
        return round(took / self.done * (self.total - self.done), 1)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

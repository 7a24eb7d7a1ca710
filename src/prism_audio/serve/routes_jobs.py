"""``/v1/jobs``: the progress and the results of calibrations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.responses import Response, StreamingResponse

from prism_audio.serve import parameters
from prism_audio.serve.errors import documented
from prism_audio.serve.job import Job
from prism_audio.serve.service import Service
from prism_audio.serve.site_schemas import JobList, JobSummary

# Seconds between two signs of life on a quiet stream of events: proxies cut what is silent for long.
QUIET = 15.0
# Seconds between two events of one job; a page cannot show more.
PACE = 0.1
EVENTS = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "properties": {
                "event": {"type": "string", "enum": ["progress", "done", "failed", "cancelled"]},
                "data": {"type": "string", "description": "The job as JSON."},
            },
            "required": ["event", "data"],
        },
        "example": 'event: progress\ndata: {"job": "0f3a9c1d22b84e67", "state": "running"}\n\n',
    }
}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes to an application."""

    @app.get("/v1/jobs", summary="All calibrations", tags=["calibration"], responses=documented())
    async def list_jobs() -> JobList:
        """Calibrations that wait or run, and the last that ended, also before a restart."""
        return JobList(jobs=[job.summary(result=False) for job in service.jobs])

    @app.delete(
        "/v1/jobs/{job}",
        summary="Cancel a calibration",
        tags=["calibration"],
        response_description="The job, which is cancelled.",
        responses=documented(404, 409, 422),
    )
    async def cancel_job(job: parameters.JobPath) -> JobSummary:
        """Stop a calibration that waits or runs; the site stays as it is."""
        return service.jobs.cancel(job).summary()

    @app.get(
        "/v1/jobs/{job}",
        summary="A calibration",
        tags=["calibration"],
        responses=documented(404, 422),
    )
    async def get_job(job: parameters.JobPath) -> JobSummary:
        """How far a calibration is, and its result once it is done."""
        return service.jobs.get(job).summary()

    @app.get(
        "/v1/jobs/{job}/events",
        summary="Follow a calibration",
        tags=["calibration"],
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Events `progress` with the job, then one with how it ended.",
                "content": EVENTS,
            },
            **documented(404, 422),
        },
    )
    async def follow_job(job: parameters.JobPath) -> Response:
        """Server-sent events until the calibration ends; the first tells the present state."""
        return StreamingResponse(
            _events(service.jobs.get(job)),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


async def _events(job: Job) -> AsyncIterator[str]:
    async for changed in job.changes(QUIET):
        if not changed:
            yield ": still here\n\n"
            continue
        kind = job.state if job.finished else "progress"
        yield f"event: {kind}\ndata: {job.summary(result=job.finished).model_dump_json()}\n\n"
        if not job.finished:
            await asyncio.sleep(PACE)

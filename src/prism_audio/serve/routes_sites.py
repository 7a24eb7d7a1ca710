"""``/v1/sites`` and ``/v1/jobs``: sites, their adapters, and the progress of calibrations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.responses import Response, StreamingResponse

from prism_audio.serve import parameters
from prism_audio.serve.errors import documented
from prism_audio.serve.jobs import Job
from prism_audio.serve.service import Service
from prism_audio.serve.site_schemas import JobSummary, SiteList, SiteSummary

# Seconds between two signs of life on a quiet stream of events: proxies cut what is silent for long.
QUIET = 15.0
# Seconds between two events of one job; a page cannot show more.
PACE = 0.1
BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
EVENTS = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "properties": {
                "event": {"type": "string", "enum": ["progress", "done", "failed"]},
                "data": {"type": "string", "description": "The job as JSON."},
            },
            "required": ["event", "data"],
        },
        "example": 'event: progress\ndata: {"job": "0f3a9c1d22b84e67", "state": "running"}\n\n',
    }
}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes to an application."""

    @app.get("/v1/sites", summary="All sites", tags=["sites"], responses=documented())
    async def list_sites() -> SiteList:
        """The places this service knows, with their labels and the result of their calibration."""
        summaries = [site.summary(service.encoder) for site in service.sites]
        return SiteList(default=service.sites.default, sites=summaries)

    @app.get("/v1/sites/{site}", summary="One site", tags=["sites"], responses=documented(404, 422))
    async def get_site(site: parameters.SitePath) -> SiteSummary:
        """A place: its labels, its verdict and why."""
        return service.sites.get(site).summary(service.encoder)

    @app.get(
        "/v1/sites/{site}/adapter",
        summary="The adapter of a site",
        tags=["sites"],
        response_class=Response,
        responses={
            200: {
                "description": "The file, as `prism classify --adapter` takes it.",
                "content": BINARY,
            },
            **documented(404, 422),
        },
    )
    async def get_adapter(site: parameters.SitePath) -> Response:
        """Download the result of a calibration; 404 for a site that is plain zero-shot."""
        chosen = service.sites.get(site)
        content = await asyncio.to_thread(chosen.file)
        name = f'attachment; filename="{chosen.name}.safetensors"'
        headers = {"Content-Disposition": name}
        return Response(content, media_type="application/octet-stream", headers=headers)

    @app.delete(
        "/v1/sites/{site}",
        status_code=204,
        summary="Remove a site",
        tags=["sites"],
        response_description="It is gone.",
        responses=documented(404, 409, 422, 503),
    )
    async def delete_site(site: parameters.SitePath) -> None:
        """Remove a site and its stored adapter; the default site stays."""
        with service.requests.slot():
            await asyncio.to_thread(service.sites.remove, site)

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
                "description": "Events `progress` with the job, then one `done` or `failed`.",
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

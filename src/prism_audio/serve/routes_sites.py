"""``/v1/sites``, ``/v1/jobs`` and ``/v1/limits``: what can be asked about the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response, StreamingResponse

from prism_audio.audio.capture import FORMATS
from prism_audio.audio.decode import SUFFIXES
from prism_audio.serve import examples, parameters, schemas
from prism_audio.serve.examples import example
from prism_audio.serve.jobs import Job
from prism_audio.serve.service import Service
from prism_audio.serve.sites import NAME

# Seconds between two signs of life on a quiet stream of events: proxies cut what is silent for long.
QUIET = 15.0
# Seconds between two events of one job; a page cannot show more.
PACE = 0.1
# One event, as its client sees it; the data is a job as JSON.
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["progress", "done", "failed"]},
        "data": {"type": "string"},
    },
    "required": ["event", "data"],
}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add them to an application."""

    @app.get(
        "/v1/limits",
        summary="How much may be asked for",
        tags=["service"],
        responses={
            200: {"model": schemas.LimitsShape, **example(examples.LIMITS)},
            **schemas.refusals(),
        },
    )
    async def limits() -> Response:
        """The limits that requests are held to, and what recordings may be."""
        of = service.limits
        return JSONResponse(
            {
                "files": of.files,
                "bytes": of.bytes,
                "seconds": of.seconds,
                "request_seconds": of.request_seconds,
                "formats": sorted(suffix.removeprefix(".") for suffix in SUFFIXES),
                "pcm": list(FORMATS),
                "labels": of.labels,
                "rows": of.rows,
                "live": of.live,
                "sites_pattern": NAME,
            }
        )

    @app.get(
        "/v1/sites",
        summary="All sites",
        tags=["sites"],
        responses={
            200: {
                "model": schemas.SitesShape,
                **example({"default": "street", "sites": [examples.SITE]}),
            },
            **schemas.refusals(),
        },
    )
    async def sites() -> Response:
        """The places this service knows, with their labels and what their calibration came to."""
        known = [site.describe(service.encoder) for site in service.sites]
        return JSONResponse({"default": service.sites.default, "sites": known})

    @app.get(
        "/v1/sites/{site}",
        summary="One site",
        tags=["sites"],
        responses={
            200: {"model": schemas.SiteShape, **example(examples.SITE)},
            **schemas.refusals(404, 422),
        },
    )
    async def one_site(site: parameters.SitePath) -> Response:
        """A place: its labels, its verdict and why."""
        return JSONResponse(service.sites.get(site).describe(service.encoder))

    @app.get(
        "/v1/sites/{site}/adapter",
        summary="The adapter of a site",
        tags=["sites"],
        response_class=Response,
        responses={
            200: {
                "description": "The file, as `prism classify --adapter` takes it.",
                "content": {
                    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
                },
            },
            **schemas.refusals(404, 422),
        },
    )
    async def adapter(site: parameters.SitePath) -> Response:
        """Download what a calibration found; 404 for a site that is plain zero-shot."""
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
        responses={204: {"description": "It is gone."}, **schemas.refusals(404, 409, 422, 503)},
    )
    async def remove(site: parameters.SitePath) -> Response:
        """Forget a site and its stored adapter; the default site stays."""
        with service.admission.place():
            await asyncio.to_thread(service.sites.remove, site)
        return Response(status_code=204)

    @app.get(
        "/v1/jobs/{job}",
        summary="A calibration",
        tags=["calibration"],
        responses={
            200: {"model": schemas.JobShape, **example(examples.JOB)},
            **schemas.refusals(404, 422),
        },
    )
    async def one_job(job: parameters.JobPath) -> Response:
        """How far a calibration is, and what it found once it is done."""
        return JSONResponse(service.jobs.get(job).document())

    @app.get(
        "/v1/jobs/{job}/events",
        summary="Follow a calibration",
        tags=["calibration"],
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Events `progress` with the job, then one `done` or `failed`.",
                "content": {"text/event-stream": {"schema": _EVENT, "example": examples.EVENTS}},
            },
            **schemas.refusals(404, 422),
        },
    )
    async def events(job: parameters.JobPath) -> Response:
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
        yield f"event: {kind}\ndata: {json.dumps(job.document(result=job.finished))}\n\n"
        if not job.finished:
            await asyncio.sleep(PACE)

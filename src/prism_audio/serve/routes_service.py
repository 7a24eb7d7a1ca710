"""``/healthz``, ``/metrics``, ``/v1/limits`` and the page: the routes about the service itself."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from prism_audio._version import __version__
from prism_audio.audio.capture import FORMATS
from prism_audio.audio.decode import SUFFIXES
from prism_audio.serve.errors import documented
from prism_audio.serve.service import Service
from prism_audio.serve.site import NAME
from prism_audio.serve.site_schemas import Health, ServiceLimits

METRICS = 'prism_requests_total{method="POST",route="/v1/classify",status="200"} 17\n'


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes to an application."""

    @app.get(
        "/healthz",
        summary="Whether the service is up",
        tags=["service"],
        responses={403: documented()[403], 503: {"model": Health, "description": "It stops."}},
    )
    async def get_health(response: Response) -> Health:
        """`ok`, or `stopping` with 503 once it takes nothing new; needs no token."""
        if service.requests.stopping:
            response.status_code = 503
            return Health(status="stopping", version=__version__)
        return Health(status="ok", version=__version__)

    @app.get(
        "/readyz",
        summary="Whether a request would be taken now",
        tags=["service"],
        responses={403: documented()[403], 503: {"model": Health, "description": "Not now."}},
    )
    async def get_ready(response: Response) -> Health:
        """`ok`, or 503 while the service is stopping or all its slots are taken; needs no token."""
        if service.requests.full:
            response.status_code = 503
            return Health(status="busy", version=__version__)
        return await get_health(response)

    @app.get(
        "/metrics",
        summary="Numbers for Prometheus",
        tags=["service"],
        response_class=PlainTextResponse,
        responses={
            200: {
                "description": "The text format of Prometheus.",
                "content": {"text/plain": {"schema": {"type": "string"}, "example": METRICS}},
            },
            **documented(),
        },
    )
    async def get_metrics() -> str:
        """Requests by route and status, answer times, recordings by site, what waits."""
        return service.metrics.text()

    @app.get(
        "/v1/limits",
        summary="How much may be asked for",
        tags=["service"],
        responses=documented(),
    )
    async def get_limits() -> ServiceLimits:
        """The limits of requests, and the formats of recordings."""
        limits = service.limits
        return ServiceLimits(
            files=limits.files,
            bytes=limits.bytes,
            seconds=limits.seconds,
            request_seconds=limits.request_seconds,
            formats=sorted(suffix.removeprefix(".") for suffix in SUFFIXES),
            pcm=list(FORMATS),
            labels=limits.labels,
            rows=limits.rows,
            live=limits.live,
            sites_pattern=NAME,
        )

    folder = Path(str(files("prism_audio.serve") / "page"))

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return FileResponse(folder / "index.html", headers={"Cache-Control": "no-cache"})

    app.mount("/page", _FreshFiles(directory=folder, check_dir=False), name="page")


class _FreshFiles(StaticFiles):
    """Files that a browser asks after every time, so that an update is seen at once."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response

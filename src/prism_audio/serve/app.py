"""The application: addresses on a service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Match
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from prism_audio._version import __version__
from prism_audio.errors import PrismError
from prism_audio.serve import examples, live, routes_recordings, routes_sites, schemas
from prism_audio.serve.examples import example
from prism_audio.serve.middleware import Outermost
from prism_audio.serve.refusal import Refusal
from prism_audio.serve.service import Service
from prism_audio.serve.settings import ServiceSettings

ABOUT = """
Zero-shot sound classification that works in noisy places: labels for recordings and streams, and
calibration of places from unlabelled recordings.

Every refusal is `{"error": {"code", "message", "file"}}`. Live audio goes over a WebSocket at
`/v1/live`, which this document cannot describe; the service's documentation does.
"""


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI application.

    Everything that can be wrong with the settings is found out here, before a port is opened:
    adapters are loaded, the encoder is started, the store is read. ``app.state.service`` is the
    :class:`~prism_audio.serve.service.Service` behind it.

    Raises
    ------
    PrismError
        That says which setting cannot be used, and why.
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.close()

    app = FastAPI(
        title="PRISM",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        # Both would load scripts from elsewhere; the document itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    routes_recordings.add_routes(app, service)
    routes_sites.add_routes(app, service)
    live.add_routes(app, service)
    _add_service_routes(app, service)
    _add_page(app)
    _add_refusals(app)
    app.add_middleware(
        Outermost, access=service.access, admission=service.admission, metrics=service.metrics
    )
    if settings.token:
        _document_token(app)
    return app


def _add_service_routes(app: FastAPI, service: Service) -> None:
    @app.get(
        "/healthz",
        summary="Whether the service is up",
        tags=["service"],
        responses={
            200: {
                "model": schemas.Health,
                **example({"status": "ok", "version": __version__}),
            },
            403: schemas.refusals()[403],
        },
    )
    async def health() -> Response:
        """`ok`, or `stopping` once it takes nothing new; needs no token."""
        status = "stopping" if service.admission.stopping else "ok"
        return JSONResponse({"status": status, "version": __version__})

    @app.get(
        "/metrics",
        summary="Numbers for Prometheus",
        tags=["service"],
        response_class=Response,
        responses={
            200: {
                "description": "The text form of Prometheus.",
                "content": {
                    "text/plain": {"schema": {"type": "string"}, "example": examples.METRICS}
                },
            },
            **schemas.refusals(),
        },
    )
    async def metrics() -> Response:
        """Requests by route and status, answer times, windows embedded, what waits."""
        return PlainTextResponse(service.metrics.text(_gauges(service)))


def _gauges(service: Service) -> list[tuple[str, str, str, float]]:
    tower, jobs = service.tower, service.jobs
    return [
        ("prism_requests_inside", "gauge", "Requests being answered.", service.admission.inside),
        ("prism_windows_total", "counter", "Windows of sound embedded.", tower.windows),
        ("prism_batches_total", "counter", "Batches they were embedded in.", tower.batches),
        ("prism_windows_waiting", "gauge", "Windows waiting for the encoder.", tower.waiting),
        ("prism_jobs_waiting", "gauge", "Calibrations that wait or run.", jobs.waiting),
        ("prism_jobs_done_total", "counter", "Calibrations that went well.", jobs.finished),
        ("prism_jobs_failed_total", "counter", "Calibrations that failed.", jobs.failed),
        ("prism_live_streams", "gauge", "Live streams open.", service.streams.inside),
        ("prism_sites", "gauge", "Sites known.", len(service.sites)),
    ]


def _add_page(app: FastAPI) -> None:
    folder = Path(str(files("prism_audio.serve") / "page"))

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return FileResponse(folder / "index.html", headers={"Cache-Control": "no-cache"})

    app.mount("/page", _Fresh(directory=folder, check_dir=False), name="page")


class _Fresh(StaticFiles):
    """Files that a browser asks after every time, so that an update is seen at once."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _add_refusals(app: FastAPI) -> None:
    def said(refusal: Refusal) -> Response:
        return JSONResponse(refusal.document, refusal.status, refusal.headers)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, PrismError)
        return said(error if isinstance(error, Refusal) else Refusal(422, "refused", str(error)))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return said(Refusal(422, "invalid_parameter", f"{where}: {first['msg']}"))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
        message = f"{request.method} {request.url.path[:200]}: {error.detail}; see /openapi.json"
        headers = {"Allow": _methods(app, request.scope)} if error.status_code == 405 else {}
        return said(Refusal(error.status_code, code, message, headers=headers))

    async def internal(request: Request, error: Exception) -> Response:
        return said(Refusal(500, "internal", "the service failed at this request; see its log"))

    app.add_exception_handler(PrismError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, internal)


def _methods(app: FastAPI, scope: Scope) -> str:
    """All methods of an address; the framework names those of one route alone."""
    known: set[str] = set()
    for route in app.routes:
        if route.matches(scope)[0] is not Match.NONE:
            known |= set(getattr(route, "methods", None) or ())
    return ", ".join(sorted(known))


def _document_token(app: FastAPI) -> None:
    document = app.openapi()
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    document["paths"]["/healthz"]["get"]["security"] = []

"""The service as an ASGI application: routes, error handlers and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope
from starlette.websockets import WebSocket

from prism_audio._version import __version__
from prism_audio.errors import PrismError
from prism_audio.serve import (
    routes_calibrate,
    routes_classify,
    routes_embeddings,
    routes_events,
    routes_jobs,
    routes_labels,
    routes_live,
    routes_search,
    routes_service,
    routes_sites,
)
from prism_audio.serve.errors import ApiError, Problem
from prism_audio.serve.middleware import RequestMiddleware, refuse_unknown_parameters
from prism_audio.serve.service import Service
from prism_audio.serve.settings import ServiceSettings

ROUTES = (
    routes_classify,
    routes_embeddings,
    routes_events,
    routes_calibrate,
    routes_sites,
    routes_labels,
    routes_search,
    routes_jobs,
    routes_live,
    routes_service,
)
ABOUT = """
Zero-shot sound classification that works in noisy places: labels for recordings and streams, and
calibration of places from unlabelled recordings.

Every error is a problem as in RFC 9457. Live audio goes over a WebSocket at `/v1/live`, which this
document cannot describe; the service's documentation does.
"""


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI application.

    Wrong settings are found here, before a port is opened: adapters are loaded, the encoder is
    started, the store is read. ``app.state.service`` is the
    :class:`~prism_audio.serve.service.Service` behind it.

    Raises
    ------
    PrismError
        That says which setting cannot be used, and why.
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001
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
        generate_unique_id_function=lambda route: route.name,
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    app.state.service = service
    for routes in ROUTES:
        routes.add_routes(app, service)
    _add_error_handlers(app)
    app.add_middleware(
        RequestMiddleware,
        settings=settings,
        requests=service.requests,
        metrics=service.metrics,
    )
    _complete_document(app, with_token=bool(settings.token))
    return app


def _add_error_handlers(app: FastAPI) -> None:
    async def answer(connection: HTTPConnection, error: ApiError) -> Response | None:
        if isinstance(connection, WebSocket):
            await routes_live.refuse(connection, error)
            return None
        return error.response()

    async def prism_error(connection: HTTPConnection, error: Exception) -> Response | None:
        if not isinstance(error, ApiError):
            error = ApiError(422, "refused", str(error))
        return await answer(connection, error)

    async def invalid_parameter(connection: HTTPConnection, error: Exception) -> Response | None:
        assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        problem = ApiError(422, "invalid_parameter", f"{where}: {first['msg']}")
        return await answer(connection, problem)

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
        message = f"{request.method} {request.url.path[:200]}: {error.detail}; see /openapi.json"
        headers = {"Allow": _methods(app, request.scope)} if error.status_code == 405 else {}
        return ApiError(error.status_code, code, message, headers=headers).response()

    async def internal_error(_: Request, error: Exception) -> Response:  # noqa: ARG001
        message = "the service failed at this request; see its log"
        return ApiError(500, "internal", message).response()

    app.add_exception_handler(PrismError, prism_error)  # type: ignore[arg-type]
    for kind in (RequestValidationError, WebSocketRequestValidationError):
        app.add_exception_handler(kind, invalid_parameter)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(Exception, internal_error)


def _methods(app: FastAPI, scope: Scope) -> str:
    """All methods of an address; the framework names those of one route alone."""
    known: set[str] = set()
    for route in app.routes:
        if route.matches(scope)[0] is not Match.NONE:
            known |= set(getattr(route, "methods", None) or ())
    return ", ".join(sorted(known))


def _complete_document(app: FastAPI, *, with_token: bool) -> None:
    """Add to the OpenAPI document what the framework does not know: errors, and the token."""
    document = app.openapi()
    components = document["components"]
    components["schemas"]["Problem"] = Problem.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    if with_token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        document["paths"]["/healthz"]["get"]["security"] = []

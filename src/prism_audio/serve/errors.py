"""Errors that clients see: problem details as in RFC 9457, ``application/problem+json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from prism_audio.errors import PrismError

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """Every answer with a status of 400 or more (RFC 9457)."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(
        default="about:blank", description="Always about:blank: `code` tells errors apart."
    )
    title: str = Field(description="The meaning of the status.", examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What is wrong and what to do, for people.")
    code: str = Field(description="One word for programs.", examples=["unknown_site"])
    file: str | None = Field(
        default=None, description="The recording to blame, by the client's name."
    )


class ApiError(PrismError):
    """An answer with a status of 400 or more.

    Attributes
    ----------
    status : int
        The HTTP status.
    code : str
        One word for programs.
    file : str, optional
        The recording to blame, by the name the client gave it.
    headers : mapping
        Headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        file: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.file = status, code, file
        self.headers = dict(headers or {})

    @property
    def problem(self) -> Problem:
        """The body of the answer."""
        return Problem(
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=str(self),
            code=self.code,
            file=self.file,
        )

    def response(self) -> Response:
        """The whole answer."""
        body = self.problem.model_dump_json()
        return Response(body, self.status, self.headers, media_type=MEDIA_TYPE)


def busy(what: str, seconds: int = 1) -> ApiError:
    """429: too much at once; the client should try again in so many seconds."""
    return ApiError(
        429, "busy", f"{what}; try again in {seconds} s", headers={"Retry-After": str(seconds)}
    )


def stopping() -> ApiError:
    """503: the service is about to end."""
    return ApiError(
        503,
        "stopping",
        "the service is stopping: it finishes what it has accepted and takes nothing new",
        headers={"Retry-After": "5"},
    )


def too_slow(seconds: float) -> ApiError:
    """408: the request took longer than it may."""
    message = f"the request took longer than {seconds:g} s; send fewer or shorter recordings"
    return ApiError(408, "too_slow", message)


def wants_token() -> ApiError:
    """401: the token is missing, or it is a wrong one."""
    message = "this service wants its token: send 'Authorization: Bearer <token>'"
    return ApiError(401, "unauthorized", message, headers={"WWW-Authenticate": "Bearer"})


def foreign_host(host: str) -> ApiError:
    """403: the request is for a name that is none of the service's."""
    return ApiError(
        403,
        "foreign_host",
        f"the request is for the host {host[:80]!r}, which is none of this service's names; "
        "start it with --allow-host to be called by another one",
    )


def cross_origin(origin: str) -> ApiError:
    """403: the request comes from another site's page."""
    message = f"the request comes from a page at {origin[:80]!r}; only the service's own page may"
    return ApiError(403, "cross_origin", message)


def all_failed(errors: Sequence[ApiError]) -> ApiError:
    """422: not one recording of a request could be used."""
    first = errors[0]
    if len(errors) == 1:
        return first
    return ApiError(
        first.status,
        first.code,
        f"none of the {len(errors)} recordings can be used; the first, {first.file}: {first}",
        file=first.file,
    )


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Errors of an operation for the OpenAPI document; 401 and 403 belong to all of them."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": _MEANING[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in sorted({*statuses, 401, 403})
    }


_MEANING = {
    400: "The body cannot be read: it is no form, or it breaks off.",
    401: "The service has a token, and the request did not show it.",
    403: "The request comes from a page of another origin, or asks for a foreign host.",
    404: "There is no such site, job, version or file.",
    408: "The request took longer than it may.",
    409: "The site cannot be changed so: it is the default one, the name is taken, or there are "
    "too many sites.",
    413: "The body is too large, or holds too many recordings.",
    415: "The body is of a type that is not understood here.",
    422: "A parameter is wrong, or no recording can be used; the message says which and why.",
    429: "Too much at once; try again after the seconds in Retry-After.",
    503: "The service is stopping and takes nothing new, or its disk is almost full.",
}

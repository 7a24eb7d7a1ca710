"""What a client is told when it does not get what it asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism_audio.errors import PrismError


class Refusal(PrismError):
    """An answer with a status of 400 or more.

    Attributes
    ----------
    status : int
        Of HTTP.
    code : str
        One word for programs.
    file : str, optional
        The recording that is to blame, by the name the client gave it.
    headers : mapping
        That go with the answer.
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
    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": str(self), "file": self.file}}


def busy(what: str, seconds: int = 1) -> Refusal:
    """Too much at once: come again in so many seconds."""
    return Refusal(
        429, "busy", f"{what}; try again in {seconds} s", headers={"Retry-After": str(seconds)}
    )


def stopping() -> Refusal:
    """The service is about to end."""
    return Refusal(
        503,
        "stopping",
        "the service is stopping: it finishes what it has accepted and takes nothing new",
        headers={"Retry-After": "5"},
    )

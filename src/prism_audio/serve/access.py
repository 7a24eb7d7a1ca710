"""Who may talk to the service: a token if one is set, and never a foreign page in a browser."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from prism_audio.serve.refusal import Refusal
from prism_audio.serve.settings import ServiceSettings, is_loopback

# What a browser must get before it can ask its user for the token.
OPEN_PATHS = ("/", "/healthz")
OPEN_FOLDER = "/page/"


class Access:
    """The check that every request passes first."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._token = settings.token.encode() if settings.token else None
        # A foreign page can give its own name this machine's address; the Host header gives it away.
        self._loopback_names_only = self._token is None and is_loopback(settings.host)

    def check(self, path: str, headers: Mapping[str, str], query_token: str | None) -> None:
        """Raise a :class:`Refusal` for those who may not; ``query_token`` is for WebSocket and SSE."""
        self._check_origin(headers)
        if self._token is None or path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        shown = given.strip() if kind.lower() == "bearer" else query_token or ""
        if not hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), self._token):
            raise Refusal(
                401,
                "unauthorized",
                "this service wants its token: send 'Authorization: Bearer <token>'",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        name = _name(f"//{host}")
        if self._loopback_names_only and not (name and is_loopback(name)):
            raise Refusal(
                403,
                "foreign_host",
                f"the request is for the host {host[:80]!r}, and this service answers to localhost "
                "alone; start it with --host and --token to reach it by another name",
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit_host(origin) != host.lower():
            raise Refusal(
                403,
                "cross_origin",
                f"the request comes from a page at {origin[:80]!r}; only the service's own page may",
            )


def urlsplit_host(url: str) -> str | None:
    """Host and port of an address, as a Host header has them; None where it has none."""
    try:
        return urlsplit(url).netloc.lower() or None
    except ValueError:
        return None


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None

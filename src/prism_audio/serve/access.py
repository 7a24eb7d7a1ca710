"""Access control: a token if one is set, the Host header, and no page of another origin."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from prism_audio.serve.errors import ApiError
from prism_audio.serve.settings import ServiceSettings

# What a browser must get before it can ask its user for the token.
OPEN_PATHS = ("/", "/healthz", "/readyz")
OPEN_FOLDER = "/page/"
# A browser cannot set headers on a WebSocket: it offers this subprotocol, and one that begins with
# the prefix and ends with the token in base64url.
SUBPROTOCOL, TOKEN_PREFIX = "prism", "bearer."


class Access:
    """The check that every request passes first."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._token = settings.token.encode() if settings.token else None
        # A foreign page can give its own name this machine's address; the Host header reveals it.
        self._loopback_only = is_loopback(settings.host)
        self._names = {settings.host, socket.gethostname().lower(), *settings.hosts}
        self._proxy = settings.proxy

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raise an :class:`ApiError` (401 or 403) for those who may not."""
        self._check_origin(headers)
        if self._token is None or path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
            return
        if not hmac.compare_digest(_shown_token(headers), self._token):
            raise ApiError(
                401,
                "unauthorized",
                "this service wants its token: send 'Authorization: Bearer <token>'",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if self._proxy:
            host = headers.get("x-forwarded-host", host)
        if not self._knows(_host_name(f"//{host}")):
            raise ApiError(
                403,
                "foreign_host",
                f"the request is for the host {host[:80]!r}, which is none of this service's names; "
                "start it with --allow-host to be called by another one",
            )
        origin = headers.get("origin")
        if origin is not None and _host_and_port(origin) != host.lower():
            raise ApiError(
                403,
                "cross_origin",
                f"the request comes from a page at {origin[:80]!r}; only the service's own page may",
            )

    def _knows(self, name: str | None) -> bool:
        """Whether the service may be called so: by its names, or by address where it has one."""
        if name is None:
            return False
        if is_loopback(name) or "*" in self._names or name in self._names:
            return True
        return not self._loopback_only and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether an address or name reaches this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _shown_token(headers: Mapping[str, str]) -> bytes:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip().encode("utf-8", "surrogateescape")
    for offer in headers.get("sec-websocket-protocol", "").split(","):
        name, found, text = offer.strip().partition(TOKEN_PREFIX)
        if found and not name:
            try:
                return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            except (binascii.Error, ValueError):
                return b""
    return b""


def _host_and_port(url: str) -> str | None:
    try:
        return urlsplit(url).netloc.lower() or None
    except ValueError:
        return None


def _host_name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None

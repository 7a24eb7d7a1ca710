"""Around every request: who may come in, how many at once, security headers, request ids, the log.

An error is sent after what the client still sends has been read, so that it gets the reason.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

from starlette._utils import get_route_path
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prism_audio.serve import errors
from prism_audio.serve.errors import ApiError
from prism_audio.serve.metrics import Metrics
from prism_audio.serve.settings import ServiceSettings, is_address, is_loopback

access_log = logging.getLogger("prism_audio.access")

SECURITY = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        b"media-src 'self' blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
# A client that gets an error may still be sending. Where the connection is cut it often never sees
# the reason, so the rest is read and dropped: this much, this long.
DRAIN_BYTES, DRAIN_SECONDS = 16 * 2**20, 3.0
# Ids that clients or proxies bring, if they look like one.
REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
# What a browser must get before it can ask its user for the token.
OPEN_PATHS, OPEN_FOLDER = ("/", "/healthz", "/readyz"), "/page/"
# A browser cannot set headers on a WebSocket: it offers this subprotocol, and one that begins with
# the prefix and ends with the token in base64url.
SUBPROTOCOL, TOKEN_PREFIX = "prism", "bearer."


class Slots:
    """A bounded number of requests or streams at a time; used from the event loop alone.

    ``active`` are in use; while ``stopping`` is set, new ones are refused.
    """

    def __init__(self, most: int, what: str) -> None:
        self._most, self._what = most, what
        self.active, self.stopping = 0, False

    @property
    def full(self) -> bool:
        """Whether the next one would be refused."""
        return self.active >= self._most

    @contextmanager
    def take(self) -> Iterator[None]:
        """Hold a slot for the length of a block; raises an :class:`ApiError` (429 or 503)."""
        if self.stopping:
            raise errors.stopping()
        if self.full:
            raise errors.busy(f"{self.active} {self._what}, which is the most at a time")
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    async def wait_idle(self) -> None:
        """Wait until no slot is in use."""
        while self.active:
            await asyncio.sleep(0.02)


class RequestMiddleware:
    """Pure ASGI, so that streams pass untouched; POST and PUT take a slot until the answer begins."""

    def __init__(
        self, app: ASGIApp, *, settings: ServiceSettings, requests: Slots, metrics: Metrics
    ) -> None:
        self._app, self._settings = app, settings
        self._requests, self._metrics = requests, metrics
        self._clients = Counter[str]()
        self._token = settings.token.encode() if settings.token else None
        # A foreign page can give its own name this machine's address; the Host header reveals it.
        self._names = {"localhost", "127.0.0.1", "::1", settings.host, *settings.hosts}
        self._names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            try:
                self._check_access(scope)
            except ApiError as error:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": error.code})
                return
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as slot:
            exchange = _Exchange(scope, receive, send, slot, self._requests)
            app, client, method = self._app, exchange.client, scope["method"]
            self._clients[client] += 1
            try:
                try:
                    self._check_access(scope)
                    if self._clients[client] > (most := self._settings.limits.client_requests):
                        raise errors.busy(
                            f"{client} has {most} requests under way, the most for one client"
                        )
                    if method in ("POST", "PUT"):
                        slot.enter_context(self._requests.take())
                except ApiError as error:
                    app = error.response()
                if method == "HEAD":
                    scope = {**scope, "method": "GET"}
                await app(scope, exchange.receive, exchange.send)
            finally:
                self._clients[client] -= 1
                if not self._clients[client]:
                    del self._clients[client]
                route = getattr(scope.get("route"), "path", None) or "other"
                self._metrics.requests.labels(scope["method"], route, str(exchange.status)).inc()
                self._metrics.seconds.labels(route).observe(exchange.seconds)
                exchange.log()

    def _check_access(self, scope: Scope) -> None:
        """Raise an :class:`ApiError` (401 or 403) for those who may not come in."""
        headers, path = Headers(scope=scope), get_route_path(scope)
        host = headers.get("host", "")
        if self._settings.proxy:
            host = headers.get("x-forwarded-host", host)
        if not self._knows(_part(f"//{host}", "hostname")):
            raise errors.foreign_host(host)
        origin = headers.get("origin")
        if origin is not None and _part(origin, "netloc") != host.lower():
            raise errors.cross_origin(origin)
        if self._token is None or path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
            return
        if not hmac.compare_digest(_shown_token(headers), self._token):
            raise errors.wants_token()

    def _knows(self, name: str) -> bool:
        """Whether the service may be called so: by its names, or by address where it has one."""
        if name in self._names or ("*" in self._names and name):
            return True
        return is_loopback(name) or (not is_loopback(self._settings.host) and is_address(name))


class _Exchange:
    """One request and its answer."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, slot: ExitStack, requests: Slots
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._slot, self._requests = slot, requests
        self._began = time.monotonic()
        self._body_ended = False
        self.status, self.seconds = 500, 0.0
        brought = Headers(scope=scope).get("x-request-id", "")
        self.client: str = (scope.get("client") or ("-",))[0]
        self._head = scope["method"] == "HEAD"
        self._id = brought if REQUEST_ID.fullmatch(brought) else f"{random.getrandbits(64):016x}"

    def log(self) -> None:
        """Write the line of the access log."""
        extra = {"status": self.status, "milliseconds": round(1000 * self.seconds, 1)}
        access_log.info(
            "%s %s",
            self._scope["method"],
            self._scope["path"][:200],
            extra={**extra, "client": self.client, "request": self._id},
        )

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._body_ended = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._slot.close()
            self.status = message["status"]
            self.seconds = time.monotonic() - self._began
            headers = [*message["headers"], *SECURITY, (b"x-request-id", self._id.encode())]
            if self._requests.stopping:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
            if self.status >= 400:
                await self._drain()
        elif self._head:
            message = {**message, "body": b""}
        await self._send(message)

    async def _drain(self) -> None:
        length = Headers(scope=self._scope).get("content-length", "0")
        if self._body_ended or (length.isdecimal() and int(length) > DRAIN_BYTES):
            return
        dropped = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._body_ended and dropped <= DRAIN_BYTES:
                    dropped += len((await self.receive()).get("body", b""))


async def refuse_unknown_parameters(connection: HTTPConnection) -> None:
    """Refuse a query parameter that the route does not have; a dependency of every route."""
    known = {field.alias for field in connection.scope["route"].dependant.query_params}
    for name in sorted(set(connection.query_params) - known):
        message = f"there is no parameter {name[:60]!r} here; known are "
        raise ApiError(422, "unknown_parameter", message + (", ".join(sorted(known)) or "none"))


def _shown_token(headers: Mapping[str, str]) -> bytes:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip().encode("utf-8", "surrogateescape")
    for offer in headers.get("sec-websocket-protocol", "").split(","):
        if (text := offer.strip()).startswith(TOKEN_PREFIX):
            text = text.removeprefix(TOKEN_PREFIX)
            with suppress(binascii.Error, ValueError):
                return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return b""


def _part(url: str, name: str) -> str:
    """A part of an address in small letters; empty where it has none, or is no address."""
    with suppress(ValueError):
        return (getattr(urlsplit(url), name) or "").lower()
    return ""

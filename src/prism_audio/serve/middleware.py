"""Around every request: access control, security headers, request ids, timing, the access log.

An error is sent after what the client still sends has been read, so that it gets the reason.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections import Counter
from contextlib import suppress

from starlette._utils import get_route_path
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prism_audio.serve.access import Access
from prism_audio.serve.concurrency import ConcurrencyLimit
from prism_audio.serve.errors import ApiError, busy
from prism_audio.serve.metrics import Metrics

access_log = logging.getLogger("prism_audio.access")

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "media-src 'self' blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A client that gets an error may still be sending. Where the connection is cut it often never sees
# the reason, so the rest is read and dropped: this much, this long.
DRAIN_BYTES, DRAIN_SECONDS = 16 * 2**20, 3.0
# Ids that clients or proxies bring, if they look like one.
REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class RequestMiddleware:
    """The middleware; pure ASGI, so that streams pass through it untouched."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Access,
        requests: ConcurrencyLimit,
        metrics: Metrics,
        client_requests: int,
    ) -> None:
        self._app, self._access = app, access
        self._requests, self._metrics = requests, metrics
        self._most, self._active = client_requests, Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        error = self._access_error(scope)
        if scope["type"] == "websocket":
            if error is None:
                await self._app(scope, receive, send)
                return
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": error.code})
            return
        exchange = _Exchange(scope, receive, send, self._requests)
        client = exchange.client
        if error is None and self._active[client] >= self._most:
            error = busy(f"{client} has {self._most} requests under way, the most for one client")
        app = self._app if error is None else error.response()
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        self._active[client] += 1
        try:
            await app(scope, exchange.receive, exchange.send)
        finally:
            self._active[client] -= 1
            if not self._active[client]:
                del self._active[client]
            route = getattr(scope.get("route"), "path", None) or "other"
            self._metrics.requests.labels(scope["method"], route, str(exchange.status)).inc()
            self._metrics.seconds.labels(route).observe(exchange.seconds)
            exchange.log()

    def _access_error(self, scope: Scope) -> ApiError | None:
        try:
            self._access.check(get_route_path(scope), Headers(scope=scope))
        except ApiError as error:
            return error
        return None


class _Exchange:
    """One request and its answer."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, requests: ConcurrencyLimit
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._requests = requests
        self._began = time.monotonic()
        self._body_ended = False
        self.status, self.seconds = 500, 0.0
        brought = Headers(scope=scope).get("x-request-id", "")
        self.client: str = (scope.get("client") or ("-",))[0]
        self._head = scope["method"] == "HEAD"
        self._id = brought if REQUEST_ID.fullmatch(brought) else secrets.token_hex(8)

    def log(self) -> None:
        """Write the line of the access log."""
        access_log.info(
            "%s %s",
            self._scope["method"],
            self._scope["path"][:200],
            extra={
                "status": self.status,
                "milliseconds": round(1000 * self.seconds, 1),
                "client": self.client,
                "request": self._id,
            },
        )

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._body_ended = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.seconds = time.monotonic() - self._began
            headers = MutableHeaders(raw=message["headers"])
            headers["X-Request-ID"] = self._id
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            if self._requests.stopping:
                headers["Connection"] = "close"
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

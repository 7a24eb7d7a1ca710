"""Around every request: access, headers, timing, and a polite end for those that are refused."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prism_audio.serve.access import Access
from prism_audio.serve.admission import Admission
from prism_audio.serve.metrics import Metrics
from prism_audio.serve.refusal import Refusal

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
# A client that is refused may still be sending. A connection that is cut then often loses it the
# reason, so what comes is read and dropped: this much, this long.
DRAIN_BYTES, DRAIN_SECONDS = 16 * 2**20, 3.0
# Query tokens are for clients that cannot set headers, and for these paths alone.
LIVE_PATH, EVENTS_END = "/v1/live", "/events"


class Outermost:
    """The middleware; pure ASGI, so that streams pass through it untouched."""

    def __init__(
        self, app: ASGIApp, *, access: Access, admission: Admission, metrics: Metrics
    ) -> None:
        self._app, self._access = app, access
        self._admission, self._metrics = admission, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if scope["type"] == "websocket":
            if refusal is not None:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refusal.code})
                return
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._admission)
        try:
            if refusal is not None:
                await _answer(refusal, exchange)
            else:
                await self._app(scope, exchange.receive, exchange.send)
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            self._metrics.answered(scope["method"], route, exchange.status, exchange.seconds)

    def _refusal(self, scope: Scope) -> Refusal | None:
        path: str = scope["path"]
        token = None
        if path == LIVE_PATH or path.endswith(EVENTS_END):
            token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        try:
            self._access.check(path, Headers(scope=scope), token)
        except Refusal as refusal:
            return refusal
        return None


class _Exchange:
    """One request and its answer, watched."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, admission: Admission) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._admission = admission
        self._began = time.monotonic()
        self._body_ended = False
        self.status, self.seconds = 500, 0.0

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
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            if self._admission.stopping:
                headers["Connection"] = "close"
            if self.status >= 400:
                await self._drain()
        await self._send(message)

    async def _drain(self) -> None:
        headers = Headers(scope=self._scope)
        said = headers.get("content-length", "0")
        if self._body_ended or (said.isdecimal() and int(said) > DRAIN_BYTES):
            return
        dropped = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._body_ended and dropped <= DRAIN_BYTES:
                    dropped += len((await self.receive()).get("body", b""))


async def _answer(refusal: Refusal, exchange: _Exchange) -> None:
    body = json.dumps(refusal.document).encode()
    headers: list[tuple[bytes, bytes]] = [
        (name.lower().encode(), value.encode()) for name, value in refusal.headers.items()
    ]
    headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    start: dict[str, Any] = {"type": "http.response.start", "status": refusal.status}
    await exchange.send({**start, "headers": headers})
    await exchange.send({"type": "http.response.body", "body": body})

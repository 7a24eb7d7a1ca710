"""Run the service with uvicorn; a signal ends it after all accepted work is done."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from prism_audio.errors import PrismError
from prism_audio.serve.service import Service

# Seconds for the last events and answers to leave after the work is done.
LINGER = 0.3
# Bytes in one message of a live stream.
MESSAGE_BYTES = 2**20
# Seconds within which the headers of a request must be here.
HEADER_SECONDS = 10.0


class Server(uvicorn.Server):
    """A server that keeps its port open while it finishes, so that new requests get 503.

    The first signal begins that; a second one ends it at once.
    """

    service: Service
    _loop: asyncio.AbstractEventLoop | None = None
    _draining: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is None or self._draining is not None:
            # Threads that decode cannot be interrupted, so the process is ended under them.
            print("stopped at once", file=sys.stderr, flush=True)
            os._exit(1)
        self._loop.call_soon_threadsafe(self._drain)

    async def startup(self, sockets: Any = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def _drain(self) -> None:
        self._draining = self._draining or asyncio.create_task(self._finish())

    async def _finish(self) -> None:
        await self.service.drain()
        # First the port, then the connections: requests on open ones still get 503.
        for server in self.servers:
            server.close()
        await asyncio.sleep(LINGER)
        self.should_exit = True


class TimedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """HTTP on one connection; closed where the headers of a request do not come in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, *event: Any) -> None:
        super().handle_websocket_upgrade(*event)
        self._stop()
        self._upgraded = True

    _upgraded = False

    def _watch(self) -> None:
        if self._upgraded:
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def open_port(host: str, port: int) -> socket.socket:
    """Open the port; 0 takes a free one."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host.strip("[]"), port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PrismError(
            f"cannot listen at {host}, port {port}: {reason}; choose another --port or --host"
        ) from None


def run(app: FastAPI, listener: socket.socket) -> None:
    """Serve at an open port until a signal, and then until all accepted work is done."""
    # A recording that ends early or a broken form is the client's business, not the operator's log's.
    for name in ("prism_audio.audio", "python_multipart"):
        logging.getLogger(name).setLevel(logging.ERROR)
    settings = app.state.service.settings
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        root_path=settings.root_path,
        proxy_headers=settings.proxy,
        log_config=None,
        access_log=False,
        server_header=False,
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,
        timeout_keep_alive=30,
    )
    server = Server(config)
    server.service = app.state.service
    # What is there now stays: looking through it again and again costs every request. So do cycles
    # that are looked for after every few hundred objects, of which a request makes as many.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
    server.run(sockets=[listener])

"""``/v1/live``: labels for live audio over a WebSocket, as ``prism listen`` gives them.

A stream that has a name can be listened to by others at ``/v1/live/{source}``.

A thread reads samples from a pipe that the socket fills. The pipe holds a bounded amount, so a client
that sends faster than sound is labelled is slowed down.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Annotated, Any, BinaryIO, cast

from fastapi import FastAPI, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from prism_audio.audio.capture import pcm_blocks
from prism_audio.errors import AudioError, PrismError
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.listener import Listener, Notice, Pace, Switched, WindowAnswer
from prism_audio.model.adapter import Adapter
from prism_audio.serve import parameters
from prism_audio.serve.byte_pipe import BytePipe
from prism_audio.serve.errors import ApiError, stopping
from prism_audio.serve.events import WindowLabel
from prism_audio.serve.live_sources import LiveSource
from prism_audio.serve.middleware import SUBPROTOCOL
from prism_audio.serve.service import Service
from prism_audio.serve.site import NAME, Site

# What a pipe may hold: ten seconds of stereo at 96 kHz.
PIPE_BYTES = 8 * 2**20
# Longer windows would answer too late.
LONGEST_WINDOW = 10.0
# Seconds without a message after which a client is taken for gone.
IDLE_SECONDS = 60.0
# How a socket is closed, by the code of the error.
CLOSE_CODES, REFUSED = {"busy": 1013, "stopping": 1001}, 1008
# Raised by sending to a client that went away, or on a socket that is closed already.
GONE = (WebSocketDisconnect, RuntimeError)

Confirm = Annotated[
    int, Query(ge=1, le=1000, description="Windows in a row that must agree to make an event.")
]
SOURCE = "A name for the stream, by which others can listen to its answers."
SourceName = Annotated[str | None, Query(pattern=NAME, description=SOURCE)]


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route to an application."""

    @app.websocket("/v1/live")
    async def live(
        socket: WebSocket,
        site: parameters.SiteQuery = None,
        labels: parameters.LabelList = None,
        background: parameters.BackgroundList = None,
        threshold: parameters.Threshold = None,
        confirm: Confirm = 2,
        source: SourceName = None,
        rate: parameters.Rate = 48_000,
        format: parameters.Format = "f32le",
        channels: parameters.Channels = 1,
    ) -> None:
        await accept(socket)
        with ExitStack() as held:
            held.enter_context(service.streams.take())
            name = site or service.sites.default
            current = await _current_adapter(service, name, labels, background)
            encoder = service.encoder
            adapter = current()
            window = max(encoder.window, min(adapter.facts.seconds or 0.0, LONGEST_WINDOW))
            pace = Pace.fit(encoder, window, confirm=confirm)
            listener = Listener(encoder, adapter, pace, threshold=threshold)
            ready = {"type": "ready", "window": round(pace.window, 3), "hop": pace.hop}
            told = held.enter_context(service.sources.open(source, ready))
            await socket.send_json(ready)
            pipe = BytePipe(PIPE_BYTES)
            blocks = pcm_blocks(
                cast(BinaryIO, pipe), rate, encoder.rate, form=format, channels=channels
            )
            gauge = service.metrics.streams.labels(name)
            service.pipes.add(pipe)
            held.callback(service.pipes.discard, pipe)
            held.enter_context(gauge.track_inprogress())
            messages = _messages(listener, listener.hear(blocks), current)
            await _exchange(socket, pipe, messages, told)
        if service.streams.stopping:
            raise stopping()
        with suppress(*GONE):
            await socket.close()

    @app.websocket("/v1/live/{source}")
    async def listen(socket: WebSocket, source: str) -> None:
        await accept(socket)
        told = service.sources[source]
        leaving = asyncio.create_task(_disconnected(socket))
        hearing = asyncio.create_task(_pass_on(told, socket))
        await asyncio.wait((leaving, hearing), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        hearing.cancel()
        _, outcome = await asyncio.gather(leaving, hearing, return_exceptions=True)
        if isinstance(outcome, ApiError):
            raise outcome
        with suppress(*GONE):
            await socket.close()


async def accept(socket: WebSocket) -> None:
    """Accept a connection, with the subprotocol that a page offers beside its token."""
    offered = SUBPROTOCOL in socket.scope.get("subprotocols", ())
    await socket.accept(SUBPROTOCOL if offered else None)


async def refuse(socket: WebSocket, error: ApiError) -> None:
    """Tell a client what is wrong, and close."""
    with suppress(*GONE):
        if socket.application_state.name == "CONNECTING":
            await accept(socket)
        await socket.send_json({"type": "error", "code": error.code, "message": str(error)})
        await socket.close(CLOSE_CODES.get(error.code, REFUSED))


async def _current_adapter(
    service: Service, name: str, labels: str | None, background: str | None
) -> Callable[[], Adapter]:
    """A function that gives the adapter of a site as it is now, with the client's labels."""

    async def adapter_of(site: Site) -> Adapter:
        return (await service.labeller(site, labels, background)).adapter

    site = service.sites[name]
    adapter = await adapter_of(site)
    loop = asyncio.get_running_loop()

    def current() -> Adapter:
        nonlocal site, adapter
        with suppress(PrismError):  # a site that was removed keeps its last adapter
            if (latest := service.sites[name]) is not site:
                adapter = asyncio.run_coroutine_threadsafe(adapter_of(latest), loop).result()
                site = latest
        return adapter

    return current


def _messages(
    listener: Listener, notices: Iterator[Notice], current: Callable[[], Adapter]
) -> Iterator[dict[str, Any]]:
    """What a client is sent; a recalibration of the site is followed."""
    for notice in notices:
        yield _message(listener, notice)
        if (adapter := current()) is not listener.adapter:
            yield _message(listener, listener.switch_to(adapter))


def _message(listener: Listener, notice: Notice) -> dict[str, Any]:
    if isinstance(notice, WindowAnswer):
        label = WindowLabel.of(notice.start, notice.end, notice.answer)
        return {"type": "window", **label.model_dump()}
    if isinstance(notice, Switched):
        return {"type": "switch", "labels": list(notice.adapter.labels)}
    if isinstance(notice, Drifted):
        at, distance = round(listener.seconds, 3), round(notice.distance, 4)
        return {"type": "drift", "at": at, "distance": distance, "away": notice.away}
    kind, event = notice
    return {
        "type": kind,
        "start": round(event.start, 3),
        "end": round(event.end, 3),
        "label": event.label,
        "score": round(event.score, 6),
    }


async def _disconnected(socket: WebSocket) -> None:
    """Wait until a client that only listens goes away."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _pass_on(told: LiveSource, socket: WebSocket) -> None:
    async for message in told.messages():
        await socket.send_json(message)


async def _exchange(
    socket: WebSocket, pipe: BytePipe, messages: Iterator[dict[str, Any]], told: LiveSource
) -> None:
    """Send messages, and tell them to those who listen, while the client's samples fill the pipe."""
    receiving = asyncio.create_task(_receive(socket, pipe))
    try:
        async for message in _on_thread(messages):
            told.tell(message)
            try:
                await socket.send_json(message)
            except GONE:
                return
    finally:
        pipe.end()
        receiving.cancel()
        (outcome,) = await asyncio.gather(receiving, return_exceptions=True)
    if isinstance(outcome, ApiError):
        raise outcome


async def _receive(socket: WebSocket, pipe: BytePipe) -> None:
    """Fill the pipe until the client sends ``end``, goes away, or is silent for too long."""
    try:
        while True:
            message = await asyncio.wait_for(socket.receive(), IDLE_SECONDS)
            if message["type"] == "websocket.disconnect" or message.get("text") == "end":
                return
            pipe.write(message.get("bytes") or b"")
            while pipe.full:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise ApiError(
            408, "idle", f"no samples came for {IDLE_SECONDS:g} s; connect again to go on"
        ) from None
    finally:
        pipe.end()


async def _on_thread(items: Iterator[Any]) -> AsyncIterator[Any]:
    """The items of an iterator that runs on a thread of its own."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    def work() -> None:
        try:
            for item in items:
                loop.call_soon_threadsafe(queue.put_nowait, ("item", item))
            last: tuple[str, Any] = ("end", None)
        except BaseException as error:  # raised again on the event loop
            last = ("error", error)
        with suppress(RuntimeError):  # the loop may be closed by then
            loop.call_soon_threadsafe(queue.put_nowait, last)

    threading.Thread(target=work, name="live", daemon=True).start()
    while True:
        kind, value = await queue.get()
        if kind == "error":
            raise _client_error(value)
        if kind == "end":
            return
        yield value


def _client_error(error: BaseException) -> BaseException:
    if not isinstance(error, AudioError):
        return error
    # The reader of raw samples speaks of a command line.
    text = str(error).removeprefix("standard input: ").replace("--", "")
    return ApiError(422, "bad_audio", text)

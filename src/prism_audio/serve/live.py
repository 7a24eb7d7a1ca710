"""``/v1/live``: labels for sound while it comes, over a WebSocket.

A thread pulls samples from a pipe that the socket fills, and labels window by window; the pipe holds
a bounded amount, so a client that sends faster than it is heard is slowed down, not buffered.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from fastapi import FastAPI, WebSocket
from starlette.websockets import WebSocketDisconnect

from prism_audio.audio.capture import FORMATS, pcm_blocks
from prism_audio.audio.gate import HIGHEST_RATE, LOWEST_RATE
from prism_audio.errors import AudioError, PrismError
from prism_audio.io.types import Float32
from prism_audio.labelling.listener import Listener, Pace
from prism_audio.model.adapter import Adapter
from prism_audio.serve.answers import labelled
from prism_audio.serve.hearing import Deadline, EmbeddedRecording
from prism_audio.serve.pipe import Pipe
from prism_audio.serve.refusal import Refusal, stopping
from prism_audio.serve.service import Service
from prism_audio.serve.words import client_labels, reworded

# What may wait in a pipe: ten seconds of stereo at 96 kHz.
HELD_BYTES = 8 * 2**20
# The window that an adapter of long recordings suggests would answer too late.
LONGEST_WINDOW = 10.0
# How a socket is closed, by the word in the error before.
CLOSING, WRONG = {"busy": 1013, "stopping": 1001}, 1008


class LiveListener(Listener):
    """A listener that says of every window what a request would be told of a recording."""

    def windows(self, blocks: Iterable[Float32]) -> Iterator[dict[str, Any]]:
        """One message for each answer."""
        for answer in self._answers(blocks):
            nothing = np.empty(0)
            sound = EmbeddedRecording(
                "", 0.0, answer.embedding, nothing, nothing, answer.embedding[None]
            )
            told = labelled(sound, self.adapter)
            kept = ("label", "score", "zero_shot", "zero_shot_score", "probability")
            yield {
                "type": "window",
                "start": round(answer.start, 3),
                "end": round(answer.end, 3),
                **{name: told[name] for name in kept},
            }


class Samples(NamedTuple):
    """What a client says its samples are."""

    rate: int
    form: str
    channels: int

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Samples:
        """From the parameters of an address, or a :class:`Refusal`."""
        rate = _whole(query, "rate", 48_000, LOWEST_RATE, HIGHEST_RATE)
        channels = _whole(query, "channels", 1, 1, 32)
        form = query.get("format", "f32le")
        if form not in FORMATS:
            raise _wrong("format", form, f"one of {', '.join(FORMATS)}")
        return cls(rate, form, channels)


def add_routes(app: FastAPI, service: Service) -> None:
    """Add them to an application."""

    @app.websocket("/v1/live")
    async def live(socket: WebSocket) -> None:
        await socket.accept()
        try:
            with service.streams.place():
                await _listen(service, socket)
            await socket.close()
        except PrismError as error:
            await _refuse(socket, error)
        except WebSocketDisconnect:
            pass  # it went away; there is nobody to tell


async def _listen(service: Service, socket: WebSocket) -> None:
    samples = Samples.of(socket.query_params)
    adapter = await _adapter(
        service, socket.query_params.get("site"), socket.query_params.get("labels")
    )
    encoder = service.urgent
    window = max(encoder.window, min(_seconds(adapter), LONGEST_WINDOW))
    listener = LiveListener(encoder, adapter, Pace.fit(encoder, window))
    pace = listener.pace
    await socket.send_json({"type": "ready", "window": round(pace.window, 3), "hop": pace.hop})
    pipe = Pipe(HELD_BYTES)
    messages = _on_thread(
        listener.windows(
            pcm_blocks(
                cast(BinaryIO, pipe),
                samples.rate,
                encoder.rate,
                form=samples.form,
                channels=samples.channels,
            )
        )
    )
    service.pipes.add(pipe)
    reading = asyncio.create_task(_read(socket, pipe))
    try:
        async for message in messages:
            await socket.send_json(message)
    finally:
        service.pipes.discard(pipe)
        pipe.end()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    if service.streams.stopping:
        raise stopping()


async def _read(socket: WebSocket, pipe: Pipe) -> None:
    """Fill the pipe until the client says ``end`` or goes away."""
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect" or message.get("text") == "end":
                return
            pipe.write(message.get("bytes") or b"")
            while pipe.full:
                await asyncio.sleep(0.02)
    finally:
        pipe.end()


async def _on_thread(items: Iterator[Any]) -> AsyncIterator[Any]:
    """What an iterator gives, each item found by a thread of its own."""
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    def work() -> None:
        try:
            for item in items:
                loop.call_soon_threadsafe(found.put_nowait, ("item", item))
            last: tuple[str, Any] = ("end", None)
        except BaseException as error:  # raised again on the event loop
            last = ("error", error)
        with suppress(RuntimeError):  # the loop may be closed by then
            loop.call_soon_threadsafe(found.put_nowait, last)

    threading.Thread(target=work, name="live", daemon=True).start()
    while True:
        kind, value = await found.get()
        if kind == "error":
            raise _explained(value)
        if kind == "end":
            return
        yield value


async def _adapter(service: Service, site: str | None, labels: str | None) -> Adapter:
    adapter = service.sites.get(site).adapter
    if labels is None:
        return adapter
    names = client_labels(labels, service.limits)
    deadline = Deadline(service.limits.request_seconds)
    prompts = service.words.prompts_of(adapter)
    return reworded(adapter, await service.words.ask(names, prompts, deadline))


async def _refuse(socket: WebSocket, error: PrismError) -> None:
    word = error.code if isinstance(error, Refusal) else "refused"
    with suppress(WebSocketDisconnect, RuntimeError):  # RuntimeError: it is closed already
        await socket.send_json({"type": "error", "code": word, "message": str(error)})
        await socket.close(CLOSING.get(word, WRONG))


def _explained(error: BaseException) -> BaseException:
    if not isinstance(error, AudioError):
        return error
    # The reader of raw samples speaks of a command line.
    return Refusal(422, "bad_audio", str(error).removeprefix("standard input: ").replace("--", ""))


def _whole(query: Mapping[str, str], name: str, usual: int, least: int, most: int) -> int:
    text = query.get(name, str(usual))
    if not (text.isascii() and text.isdecimal() and least <= int(text[:12]) <= most):
        raise _wrong(name, text, f"a whole number from {least} to {most}")
    return int(text)


def _wrong(name: str, given: str, wanted: str) -> Refusal:
    return Refusal(422, "invalid_parameter", f"{name} is {given[:40]!r}; wanted is {wanted}")


def _seconds(adapter: Adapter) -> float:
    return adapter.facts.seconds or 0.0

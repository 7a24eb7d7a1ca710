"""Live streams that have a name: one client sends the sound, and others listen to its answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from prism_audio.serve.errors import ApiError, busy

Message = dict[str, Any]

# Listeners to one stream, and messages that wait for one of them before it is let go.
MOST_LISTENERS, MOST_WAITING = 64, 256


class LiveSource:
    """The messages of one live stream, for all who listen; used from the event loop alone."""

    def __init__(self, ready: Message) -> None:
        self._ready = ready
        self._listeners: set[asyncio.Queue[Message | ApiError | None]] = set()

    def tell(self, message: Message | None) -> None:
        """Hand a message to every listener; None at the end of the stream."""
        for queue in tuple(self._listeners):
            if queue.qsize() < MOST_WAITING or message is None:
                queue.put_nowait(message)
            else:  # nobody waits for one who does not read
                self._listeners.discard(queue)
                reason = f"{MOST_WAITING} messages wait to be read; read faster"
                queue.put_nowait(ApiError(408, "too_slow", reason))

    async def messages(self) -> AsyncIterator[Message]:
        """What the stream is told from now on, after its first message."""
        if len(self._listeners) >= MOST_LISTENERS:
            raise busy(f"{MOST_LISTENERS} clients listen to this stream, which is the most")
        queue: asyncio.Queue[Message | ApiError | None] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            yield self._ready
            while (message := await queue.get()) is not None:
                if isinstance(message, ApiError):
                    raise message
                yield message
        finally:
            self._listeners.discard(queue)


class LiveSources:
    """The live streams that have a name."""

    def __init__(self) -> None:
        self._sources: dict[str, LiveSource] = {}

    def __getitem__(self, name: str) -> LiveSource:
        if name not in self._sources:
            raise ApiError(404, "unknown_source", f"nobody sends live sound as {name[:60]!r} now")
        return self._sources[name]

    @contextmanager
    def open(self, name: str | None, ready: Message) -> Iterator[LiveSource]:
        """A stream for the length of a block; without a name nobody can listen to it."""
        if name in self._sources:
            message = f"another client sends live sound as {name!r}; choose another name"
            raise ApiError(409, "source_taken", message)
        source = LiveSource(ready)
        if name is not None:
            self._sources[name] = source
        try:
            yield source
        finally:
            source.tell(None)
            if name is not None:
                del self._sources[name]

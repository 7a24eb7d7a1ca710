"""From the body of a request to recordings: counted while it comes, kept in one temporary file.

The file has no name, so nothing that a client says can lead to a path: the names it gives to its
recordings are text for messages and answers. One file for a whole request, because a thousand open
ones would be more than a process may have.
"""

from __future__ import annotations

import asyncio
import os
import struct
import tempfile
import unicodedata
from collections.abc import AsyncIterator, Coroutine
from typing import IO, Any, TypeVar

import numpy as np
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from prism_audio.audio.capture import FORMATS
from prism_audio.audio.container import View
from prism_audio.audio.source import OpenRecording
from prism_audio.serve.concurrency import Deadline
from prism_audio.serve.errors import ApiError
from prism_audio.serve.settings import Limits

Anything = TypeVar("Anything")

FIELD = "files"
MULTIPART, PCM, JSON = "multipart/form-data", "application/octet-stream", "application/json"
# What waits in memory until it is worth a trip to the disk.
_FLUSH = 1 << 20
# Seconds without a byte after which a body is given up.
BODY_IDLE_SECONDS = 20.0
AUDIO = "audio/*"
_MAGIC = (b"RIFF", b"RF64", b"RIFX", b"OggS", b"fLaC", b"caff", b"FORM", b"\x1aE\xdf\xa3")
_LONGEST_NAME, _LONGEST_HEAD = 255, 8192


class Recording(View):
    """A stretch of an upload that reads like a file; ``name`` is what the client called it."""

    def __init__(self, body: Body, name: str, start: int, stop: int, head: bytes = b"") -> None:
        super().__init__(body, head, start, stop)
        self.name = name
        self.size = len(head) + stop - start


class Body(OpenRecording):
    """The bytes of a request in its temporary file; many threads may read it at once."""

    def __init__(self, file: IO[Any]) -> None:
        super().__init__(file, "the upload")  # type: ignore[arg-type]
        self._handle = file.fileno()

    def read_at(self, offset: int, count: int) -> bytes:
        parts = []
        while count > 0 and (part := os.pread(self._handle, count, offset)):
            parts.append(part)
            offset, count = offset + len(part), count - len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Give the disk back."""
        self.file.close()


class Upload:
    """What a request brought; close it when it has been read.

    Attributes
    ----------
    recordings : list of Recording
        In the order in which they came.
    """

    def __init__(self, body: Body, recordings: list[Recording]) -> None:
        self._body, self.recordings = body, recordings

    def close(self) -> None:
        """Forget the recordings."""
        self._body.close()


async def received(receiving: Coroutine[Any, Any, Anything], deadline: Deadline) -> Anything:
    """The body of a request, once it is here; raises where that takes too long."""
    try:
        return await asyncio.wait_for(receiving, deadline.left)
    except TimeoutError:
        raise deadline.error() from None
    except ClientDisconnect:
        raise ApiError(
            400, "disconnected", "the client went away before the request ended"
        ) from None


def content_type(request: Request, known: tuple[str, ...]) -> str:
    """The type of a body; raises where it is none of the known ones."""
    value = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if value.startswith("audio/") and PCM in known:
        return AUDIO
    if value not in known:
        raise ApiError(
            415,
            "unsupported_type",
            f"the body is {value[:80] or 'of no stated type'}; send {' or '.join(known)}",
        )
    return value


async def receive_multipart(request: Request, limits: Limits) -> Upload:
    """The files of a form, or a :class:`ApiError` that says what is wrong with it."""
    _, options = parse_options_header(request.headers.get("content-type"))
    parts = _Parts(limits)
    try:
        parser = MultipartParser(options.get(b"boundary", b""), parts.callbacks)  # type: ignore[arg-type]
        if not options.get(b"boundary"):
            raise FormParserError("its Content-Type names no boundary")

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in _counted(request, limits):
                parser.write(chunk)
                yield parts.taken()

        body = await _spooled(chunks())
    except FormParserError as error:
        raise ApiError(400, "bad_multipart", f"the form cannot be read: {error}") from None
    if not parts.complete:
        body.close()
        raise ApiError(400, "bad_multipart", "the form breaks off before its end; send it again")
    if not parts.found:
        body.close()
        raise ApiError(
            422, "no_files", f"the form holds no recording; send one or more as {FIELD!r}"
        )
    return Upload(body, [Recording(body, *part) for part in parts.found])


async def receive_sound(
    request: Request, limits: Limits, *, rate: int, form: str, channels: int
) -> Upload:
    """One recording as the whole body: a file of a known kind, or raw samples.

    Raw samples are read as a wav file with this rate, form and number of channels.
    """
    body = await receive_raw(request, limits)
    if content_type(request, (PCM,)) == AUDIO or _is_container(body.read_at(0, 12)):
        return Upload(body, [Recording(body, "recording", 0, body.size)])
    kind, _ = FORMATS[form]
    width = np.dtype(kind).itemsize
    tag = 3 if form.startswith("f") else 1
    sound = struct.pack(
        "<HHIIHH", tag, channels, rate, rate * width * channels, width * channels, 8 * width
    )
    # A length of zero means "to the end", as recorders write it that never learn the length.
    head = b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", len(sound)) + sound + b"data\0\0\0\0"
    return Upload(body, [Recording(body, "samples", 0, body.size, head)])


def _is_container(head: bytes) -> bool:
    """Whether a body begins like a file, and not like samples."""
    return head[:4] in _MAGIC or head[:3] == b"ID3" or head[4:8] == b"ftyp"


async def receive_raw(request: Request, limits: Limits) -> Body:
    """The body as it is."""
    return await _spooled(_counted(request, limits))


async def _counted(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.bytes:
        raise _too_large(limits)
    total = 0
    chunks = request.stream()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(chunks), BODY_IDLE_SECONDS)
        except StopAsyncIteration:
            return
        except TimeoutError:
            message = f"no byte of the body came for {BODY_IDLE_SECONDS:g} s; send it again"
            raise ApiError(408, "too_slow", message) from None
        total += len(chunk)
        if total > limits.bytes:
            raise _too_large(limits)
        yield chunk


def _too_large(limits: Limits) -> ApiError:
    return ApiError(
        413,
        "too_large",
        f"the request is larger than {limits.bytes} bytes; send fewer recordings at a time",
    )


async def _spooled(chunks: AsyncIterator[bytes]) -> Body:
    file = tempfile.TemporaryFile(prefix="prism-upload-")  # noqa: SIM115 (lives as long as the body)
    try:
        held: list[bytes] = []
        size = 0
        async for chunk in chunks:
            held.append(chunk)
            size += len(chunk)
            if size >= _FLUSH:
                await asyncio.to_thread(file.write, b"".join(held))
                held, size = [], 0
        file.write(b"".join(held))
        file.flush()
        return Body(file)
    except BaseException:
        file.close()
        raise


class _Parts:
    """What the parser of a form calls: finds where each recording begins and ends."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.found: list[tuple[str, int, int]] = []
        self.complete = False
        self._held = bytearray()
        self._length = self._start = self._head = 0
        self._field = self._value = self._disposition = b""
        self._name = ""
        self.callbacks = {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all,
        }

    def taken(self) -> bytes:
        """Bytes of recordings that came since the last call."""
        data = bytes(self._held)
        self._held.clear()
        return data

    def _begin(self) -> None:
        self._field = self._value = self._disposition = b""
        self._head = 0

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._count_head(end - start)
        self._field += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._count_head(end - start)
        self._value += data[start:end]

    def _count_head(self, size: int) -> None:
        self._head += size
        if self._head > _LONGEST_HEAD:
            raise FormParserError(f"a part has more than {_LONGEST_HEAD} bytes of headers")

    def _header_end(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = self._value
        self._field = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        field = options.get(b"name", b"").decode("utf-8", "replace")
        if field != FIELD:
            raise ApiError(
                422,
                "unknown_field",
                f"the form has a part called {field[:60]!r}; recordings go into {FIELD!r}, "
                "and everything else into the address",
            )
        if len(self.found) >= self._limits.files:
            raise ApiError(
                413,
                "too_many_files",
                f"the request holds more than {self._limits.files} recordings; send fewer at a time",
            )
        if not options.get(b"filename"):
            raise ApiError(
                422,
                "no_files",
                f"a part {FIELD!r} of the form is no file; with curl, write -F {FIELD}=@street.wav",
            )
        name = options[b"filename"].decode("utf-8", "replace")
        self._name = readable_name(name) or f"recording {len(self.found) + 1}"
        self._start = self._length

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._held += data[start:end]
        self._length += end - start

    def _end(self) -> None:
        self.found.append((self._name, self._start, self._length))

    def _all(self) -> None:
        self.complete = True


def readable_name(name: str) -> str:
    """A client's name for a file as text that is safe to show: one line, not endless."""
    shown = "".join(c for c in name if unicodedata.category(c)[0] != "C").strip()
    return shown[:_LONGEST_NAME]

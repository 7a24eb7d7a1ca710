"""From the body of a request to recordings: counted while it comes; a large one goes to the disk.

Its temporary file has no name, so nothing that a client says can lead to a path: the names it gives
to its recordings are text for messages and answers. There is one file for a whole request, because a
thousand open ones would be more than a process may have.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from prism_audio.audio.source import OpenRecording
from prism_audio.serve.errors import ApiError, too_slow
from prism_audio.serve.settings import Limits

FIELD = "files"
MULTIPART, PCM, JSON = "multipart/form-data", "application/octet-stream", "application/json"
AUDIO = "audio/*"
# Bytes that stay in memory; more are worth a trip to the disk.
_IN_MEMORY = 1 << 20
# Seconds without a byte after which a body is given up; bytes on the disk that earn a second more.
BODY_IDLE_SECONDS, BYTES_A_SECOND = 20.0, 100_000
_LONGEST_NAME, _LONGEST_HEAD = 255, 8192
# Bytes of the disk that uploads leave free, or a tenth of a small disk.
_RESERVE = 1 << 30


class Body:
    """The bytes of a request, in memory or in a file that ends with the last who uses it.

    ``size`` bytes came; after ``until``, by ``time.monotonic``, nobody waits for an answer.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._file: io.FileIO | None = None
        self._memory = bytearray()
        self.size = 0
        self.until = time.monotonic() + limits.request_seconds

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, data: bytes | memoryview) -> None:
        """Keep more bytes."""
        self._memory += data
        self.size += len(data)

    async def receive(self, request: Request, sink: Callable[[bytes], object]) -> None:
        """Hand the body to a function while it comes; what that takes is written on the way."""
        announced = request.headers.get("content-length", "")
        total = 0
        try:
            self._count(int(announced) if announced.isdecimal() else 0)
            async with asyncio.timeout(BODY_IDLE_SECONDS) as idle:
                async for chunk in request.stream():
                    total += len(chunk)
                    self._count(total)
                    sink(chunk)
                    if len(self._memory) > _IN_MEMORY:
                        self.until += len(self._memory) / BYTES_A_SECOND
                        await asyncio.to_thread(self._write)
                    idle.reschedule(min(time.monotonic() + BODY_IDLE_SECONDS, self.until))
        except TimeoutError:
            if time.monotonic() >= self.until:
                raise too_slow(self._limits.request_seconds) from None
            message = f"no byte of the body came for {BODY_IDLE_SECONDS:g} s; send it again"
            raise ApiError(408, "too_slow", message) from None
        except ClientDisconnect:
            message = "the client went away before the request ended"
            raise ApiError(400, "disconnected", message) from None
        if self._file is not None:
            self._write()

    def _count(self, size: int) -> None:
        if size > (most := self._limits.bytes):
            message = f"the request is larger than {most} bytes; send fewer recordings at a time"
            raise ApiError(413, "too_large", message)

    def _write(self) -> None:
        disk = shutil.disk_usage(tempfile.gettempdir())
        if disk.free < min(_RESERVE, disk.total // 10):
            message = "the disk of the service is almost full; send less, or try again later"
            raise ApiError(503, "disk_full", message)
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with the body)
        view = memoryview(self._memory)
        while len(view):
            view = view[self._file.write(view) :]
        self._memory = bytearray()

    def read_at(self, offset: int, count: int) -> bytes:
        """Bytes from ``offset`` on, once all have come; many threads may read at once."""
        if self._file is None:
            return bytes(memoryview(self._memory)[offset : offset + count])
        parts = []
        while count > 0 and (part := os.pread(self._file.fileno(), count, offset)):
            parts.append(part)
            offset, count = offset + len(part), count - len(part)
        return b"".join(parts)


class Recording(OpenRecording):
    """The end of a body, with new first bytes; ``name`` is what the client called it."""

    def __init__(self, body: Body, name: str, start: int = 0, head: bytes = b"") -> None:
        self._body, self._start, self._head = body, start, head
        self.name, self.size = name, len(head) + body.size - start
        self.warnings: list[str] = []

    def read_at(self, offset: int, count: int) -> bytes:
        """Bytes from ``offset`` on: ``count`` of them, fewer only where the recording ends."""
        head = self._head[offset : offset + count]
        at = offset + len(head)
        rest = min(count - len(head), self.size - at)
        return head + self._body.read_at(self._start + at - len(self._head), rest)

    def warn(self, message: str) -> None:
        """Keep what is odd about it for the answer."""
        self.warnings.append(message)


class Upload(NamedTuple):
    """The recordings of a request, in the order in which they came, and until when to answer."""

    recordings: list[Recording]
    until: float


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
    body = Body(limits)
    form = _Form(body, limits)
    try:
        boundary = parse_options_header(request.headers.get("content-type"))[1].get(b"boundary")
        if not boundary:
            raise FormParserError("its Content-Type names no boundary")
        parser = MultipartParser(boundary, form.callbacks())  # type: ignore[arg-type]
        await body.receive(request, parser.write)
    except FormParserError as error:
        raise ApiError(400, "bad_multipart", f"the form cannot be read: {error}") from None
    if not form.complete:
        raise ApiError(400, "bad_multipart", "the form breaks off before its end; send it again")
    if not form.recordings:
        message = f"the form holds no recording; send one or more as {FIELD!r}"
        raise ApiError(422, "no_files", message)
    return Upload(form.recordings, body.until)


class _Form:
    """What the parser of a form calls: finds where each recording begins and ends."""

    def __init__(self, body: Body, limits: Limits) -> None:
        self._body, self._limits = body, limits
        self.recordings: list[Recording] = []
        self.complete = False
        self._field = self._value = self._disposition = b""
        self._head = self._start = 0
        self._name = ""

    def callbacks(self) -> dict[str, Callable[..., None]]:
        """For the parser."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all,
        }

    def _begin(self) -> None:
        self._field = self._value = self._disposition = b""
        self._head = 0

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += self._counted(data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += self._counted(data[start:end])

    def _counted(self, data: bytes) -> bytes:
        self._head += len(data)
        if self._head > _LONGEST_HEAD:
            raise FormParserError(f"a part has more than {_LONGEST_HEAD} bytes of headers")
        return data

    def _header_end(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = self._value
        self._field = self._value = b""

    def _headers_finished(self) -> None:
        options = parse_options_header(self._disposition)[1]
        field = options.get(b"name", b"").decode("utf-8", "replace")
        if field != FIELD:
            raise ApiError(
                422,
                "unknown_field",
                f"the form has a part called {field[:60]!r}; recordings go into {FIELD!r}, "
                "and everything else into the address",
            )
        number = len(self.recordings)
        if number >= (most := self._limits.files):
            message = f"the request holds more than {most} recordings; send fewer at a time"
            raise ApiError(413, "too_many_files", message)
        if not options.get(b"filename"):
            message = f"a part {FIELD!r} of the form is no file; with curl, write -F {FIELD}=@a.wav"
            raise ApiError(422, "no_files", message)
        name = options[b"filename"].decode("utf-8", "replace")
        self._name = readable_name(name) or f"recording {number + 1}"
        self._start = self._body.size

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._body.take(memoryview(data)[start:end])

    def _end(self) -> None:
        self.recordings.append(Recording(self._body, self._name, self._start))

    def _all(self) -> None:
        self.complete = True


def readable_name(name: str) -> str:
    """A client's name for a file as text that is safe to show: one line, not endless."""
    shown = "".join(c for c in name if unicodedata.category(c)[0] != "C").strip()
    return shown[:_LONGEST_NAME]

"""Bodies that are no form: one recording, raw samples, or embeddings and ids of rows as JSON.

Parsing a long text in one call would keep Python's lock, and so stop every other request, for
seconds; an embedding takes microseconds. So exactly ``{"embeddings": [[...], ...]}`` and
``{"rows": ["...", ...]}``, with or without ``"names"``, are understood.
"""

from __future__ import annotations

import asyncio
import json
import re
import struct
from dataclasses import replace
from typing import NoReturn

import numpy as np
from starlette.requests import Request

from prism_audio.audio.capture import FORMATS
from prism_audio.io.types import Float32
from prism_audio.serve.embedding import Embedder
from prism_audio.serve.errors import ApiError
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.settings import Limits
from prism_audio.serve.uploads import AUDIO, Body, Recording, Upload, readable_name

# How files of sound begin.
_MAGIC = (b"RIFF", b"RF64", b"RIFX", b"OggS", b"fLaC", b"caff", b"FORM", b"\x1aE\xdf\xa3")

# No embedding is this long; what is would overflow in float32 when it is squared.
LARGEST = 1e6
# Characters that a number may take, with what stands around it.
_NUMBER = 64
_OPENING = re.compile(r'\s*\{\s*"(embeddings|rows)"\s*:\s*\[\s*')
_ID = re.compile(r"[0-9a-f]{32}")
_NEXT = re.compile(r"\s*,\s*(?=\[)")
_CLOSING = re.compile(r"\s*\]\s*\}\s*$")


async def receive_sound(
    request: Request, limits: Limits, kind: str, pcm: tuple[int, str, int]
) -> Upload:
    """One recording as the whole body: a file of a known kind, or raw samples.

    Raw samples are read as a wav file with the rate, form and number of channels in ``pcm``.
    """
    body = await receive_raw(request, limits)
    first = body.read_at(0, 12)
    is_file = first[:4] in _MAGIC or first[:3] == b"ID3" or first[4:8] == b"ftyp"
    if kind == AUDIO or is_file:
        return Upload([Recording(body, "recording")], body.until)
    rate, form, channels = pcm
    width = np.dtype(FORMATS[form][0]).itemsize
    tag = 3 if form.startswith("f") else 1
    sound = struct.pack(
        "<HHIIHH", tag, channels, rate, rate * width * channels, width * channels, 8 * width
    )
    # A length of zero means "to the end", as recorders write it that never learn the length.
    head = b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", len(sound)) + sound + b"data\0\0\0\0"
    return Upload([Recording(body, "samples", 0, head)], body.until)


async def receive_raw(request: Request, limits: Limits) -> Body:
    """The body as it is."""
    body = Body(limits)
    await body.receive(request, body.take)
    return body


async def receive_rows(
    request: Request, limits: Limits, embedder: Embedder
) -> list[EmbeddedRecording | ApiError]:
    """Embeddings that a client sent, or those that were kept of its recordings."""
    body = await receive_raw(request, limits)

    def read() -> list[EmbeddedRecording | ApiError]:
        encoder = embedder.encoder
        rows = read_rows(body, encoder.dim, limits)
        if isinstance(rows, list):
            return [_kept(embedder, id, name) for id, name in rows]
        sent = EmbeddedRecording.without_sound
        return [sent(f"row {i}", row, encoder) for i, row in enumerate(rows)]

    return await asyncio.to_thread(read)


def _kept(embedder: Embedder, id: str, name: str | None) -> EmbeddedRecording | ApiError:
    if (recording := embedder.rows.get(id)) is None:
        message = "the service does not keep this recording any more; send its sound"
        return ApiError(404, "unknown_row", message, file=name or id)
    return replace(recording, file=name) if name else recording


def read_rows(body: Body, dim: int, limits: Limits) -> Float32 | list[tuple[str, str | None]]:
    """The rows (N, dim) of a request, or ids with their names; call it from a thread."""
    try:
        text = body.read_at(0, body.size).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _raise(f"the body is not UTF-8 ({error.reason})")
    opening = _OPENING.match(text)
    if opening is None:
        _raise("the body does not begin so")
    if opening[1] == "rows":
        return _ids(text, limits)
    rows: list[Float32] = []
    at = opening.end()
    while True:
        if len(rows) == limits.rows:
            raise _too_many(limits)
        row, at = _row(text, at, dim, len(rows))
        rows.append(row)
        if (comma := _NEXT.match(text, at)) is None:
            break
        at = comma.end()
    if _CLOSING.match(text, at) is None:
        _raise(f"after row {len(rows) - 1} it does not go on so")
    return np.stack(rows)


def _ids(text: str, limits: Limits) -> list[tuple[str, str | None]]:
    if len(text) > 500 * (limits.rows + 1):
        raise _too_many(limits)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        _raise("the body is no JSON")
    ids, names = document["rows"], document.get("names")
    if not {*document} <= {"rows", "names"} or not isinstance(ids, list) or not ids:
        _raise("the body has other members, or no rows")
    if len(ids) > limits.rows:
        raise _too_many(limits)
    if not all(isinstance(id, str) and _ID.fullmatch(id) for id in ids):
        _raise("a row is no id that this service gave")
    if names is None:
        return [(id, None) for id in ids]
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != len(ids):
        _raise("there is not one name for every row")
    return [(id, readable_name(name)) for id, name in zip(ids, names, strict=True)]


def _too_many(limits: Limits) -> ApiError:
    return ApiError(413, "too_many_rows", f"more than {limits.rows} embeddings; send fewer")


def _row(text: str, at: int, dim: int, number: int) -> tuple[Float32, int]:
    end = text.find("]", at, at + dim * _NUMBER) + 1
    if not end:
        _raise(f"row {number} has no end where {dim} numbers would have one")
    try:
        values = json.loads(text[at:end])
    except (ValueError, RecursionError):
        _raise(f"row {number} is no list of numbers")
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        _raise(f"row {number} is no list of numbers")
    if len(values) != dim:
        _raise(f"row {number} has {len(values)} numbers, and this encoder's rows have {dim}")
    if not all(abs(value) <= LARGEST for value in values):
        _raise(f"row {number} holds a number that is not between -{LARGEST:g} and {LARGEST:g}")
    return np.array(values, np.float32), end


def _raise(reason: str) -> NoReturn:
    wanted = '{"embeddings": [[...], ...]} or {"rows": ["...", ...]}'
    raise ApiError(422, "bad_embeddings", f"{reason}; send {wanted}")

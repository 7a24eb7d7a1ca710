"""Read embeddings, or ids of recordings that were embedded before, from JSON.

Parsing a long text in one call would keep Python's lock, and so stop every other request, for
seconds; a row takes microseconds. So exactly ``{"embeddings": [[...], ...]}`` and
``{"rows": ["...", ...]}`` are understood.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

import numpy as np

from prism_audio.io.types import Float32
from prism_audio.serve.errors import ApiError
from prism_audio.serve.settings import Limits
from prism_audio.serve.uploads import Body

# No embedding is this long; what is would overflow in float32 when it is squared.
LARGEST = 1e6
# Characters that a number may take, with what stands around it.
_NUMBER = 64
_OPENING = re.compile(r'\s*\{\s*"(embeddings|rows)"\s*:\s*\[\s*')
_ID = re.compile(r"[0-9a-f]{32}")
_NEXT = re.compile(r"\s*,\s*(?=\[)")
_CLOSING = re.compile(r"\s*\]\s*\}\s*$")


def read_rows(body: Body, dim: int, limits: Limits) -> Float32 | list[str]:
    """The rows (N, dim) of a request, or the ids; call it from a thread."""
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


def _ids(text: str, limits: Limits) -> list[str]:
    if len(text) > 100 * (limits.rows + 1):
        raise _too_many(limits)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        _raise("the body is no JSON")
    ids = document["rows"]
    if set(document) != {"rows"} or not isinstance(ids, list) or not ids:
        _raise("the body has other members, or no rows")
    if len(ids) > limits.rows:
        raise _too_many(limits)
    if not all(isinstance(id, str) and _ID.fullmatch(id) for id in ids):
        _raise("a row is no id that this service gave")
    return ids


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

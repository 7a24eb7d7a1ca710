"""Safetensors files: a header that is checked before anything is allocated, and a SHA-256 of all.

The library ``safetensors`` trusts a header more than a file from elsewhere deserves, and writes its
metadata in no fixed order. Here equal content gives equal bytes, and :func:`dump` adds a hash over
header and numbers, so that a changed bit or a row from another file is noticed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_HEADER = 2**20
MAX_DEPTH = 32
# Values in a JSON document: a long text is cheap to read, a million small lists are not.
MAX_VALUES = 200_000
HASH_KEY = "sha256"
_TYPES = {
    "BOOL": "?",
    **{f"I{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_ALIGNMENT = 8


class TensorFileError(ValueError):
    """A safetensors file that cannot be used; the message says why, the caller names the file."""


class TensorSpec(NamedTuple):
    """Where a tensor lies in its file; ``dtype`` is None for a type that NumPy does not have."""

    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class TensorHeader:
    """The header of a file after all checks."""

    path: Path  # the file
    metadata: dict[str, str]  # what the writer noted
    tensors: dict[str, TensorSpec]  # type, shape and place of every tensor
    begin: int  # where the numbers begin
    _document: dict[str, Any]

    def is_intact(self) -> bool | None:
        """Whether the file is as it was written, by its hash; None if it carries no hash."""
        written = self.metadata.get(HASH_KEY)
        if written is None:
            return None
        state = header_hash(self._document)
        with self.path.open("rb") as file:
            file.seek(self.begin)
            while block := file.read(2**20):
                state.update(block)
        return state.hexdigest() == written

    def read(self, name: str) -> NDArray[Any]:
        """A tensor, in memory."""
        dtype, shape, offset = self.tensors[name]
        if dtype is None:
            raise TensorFileError(f"{name!r} has a type that NumPy does not have")
        count = math.prod(shape)
        numbers = np.fromfile(self.path, dtype, count, offset=offset)
        if len(numbers) != count:
            raise TensorFileError("it is cut short")
        return numbers.reshape(shape)


def read_header(path: str | os.PathLike[str], max_header: int = MAX_HEADER) -> TensorHeader:
    """The header of a safetensors file; only its own bytes are read.

    It is refused if it is larger than ``max_header`` bytes, is no JSON of the right form, or does not
    describe exactly the bytes that follow it.
    """
    file = Path(path)
    with file.open("rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        length = int.from_bytes(handle.read(8), "little")
        if size < 10 or length < 2 or handle.read(1) != b"{":
            raise TensorFileError("it is not a safetensors file")
        if length > max_header:
            raise TensorFileError(
                f"its header has {length:,} bytes; at most {max_header:,} are read"
            )
        if 8 + length > size:
            raise TensorFileError("it is truncated: its header is cut off")
        handle.seek(8)
        document = parse_json(handle.read(length))
    begin = 8 + length
    metadata = document.get("__metadata__", {}) if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(x, str) for x in metadata.values()):
        raise TensorFileError("its header cannot be read: it is no table of tensors")
    tensors: dict[str, TensorSpec] = {}
    end = 0
    entries = [(name, value) for name, value in document.items() if name != "__metadata__"]
    for name, value, (first, last) in sorted(
        ((name, value, _offsets(name, value)) for name, value in entries), key=lambda x: x[2]
    ):
        dtype, shape = _type_and_shape(name, value)
        if first != end or (dtype and math.prod(shape) * dtype.itemsize != last - first):
            raise TensorFileError(f"its header cannot be read: wrong place or size of {name!r}")
        tensors[name], end = TensorSpec(dtype, shape, begin + first), last
    if begin + end > size:
        raise TensorFileError(f"it is truncated: {size:,} of {begin + end:,} bytes")
    if begin + end < size:
        raise TensorFileError(f"it is oversized: {size - begin - end:,} bytes after its end")
    return TensorHeader(file, metadata, tensors, begin, document)


def dump(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a safetensors file with a hash; equal content gives equal bytes."""
    # The order that the library writes: large types first, so that each is aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    document: dict[str, Any] = {"__metadata__": dict(metadata)}
    payload, end = [], 0
    for name, array in ordered:
        data = np.ascontiguousarray(array).tobytes()
        document[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + len(data)],
        }
        payload.append(data)
        end += len(data)
    state = header_hash(document)
    for data in payload:
        state.update(data)
    document["__metadata__"][HASH_KEY] = state.hexdigest()
    header = json.dumps(document, separators=(",", ":")).encode()
    header += b" " * (-len(header) % _ALIGNMENT)
    return b"".join([len(header).to_bytes(8, "little"), header, *payload])


def parse_json(text: str | bytes) -> Any:
    """A JSON document of bounded size and depth, whose keys are unique; others are refused."""
    marks = ("[", "{", ",") if isinstance(text, str) else (b"[", b"{", b",")
    if sum(map(text.count, marks)) > MAX_VALUES:  # type: ignore[arg-type]
        raise TensorFileError(f"its JSON holds more than {MAX_VALUES:,} values")
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise TensorFileError(f"its JSON is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError as error:
        raise TensorFileError(f"its JSON cannot be read: {error}") from None
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return document
    raise TensorFileError(f"its JSON is nested more than {MAX_DEPTH} levels deep")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key occurs twice")
    return document


def header_hash(document: dict[str, Any]) -> hashlib._Hash:
    """A SHA-256 that has taken in the header without the hash itself."""
    metadata = {k: v for k, v in document["__metadata__"].items() if k != HASH_KEY}
    text = json.dumps({**document, "__metadata__": metadata}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode())


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _offsets(name: str, value: Any) -> tuple[int, int]:
    places = value.get("data_offsets") if isinstance(value, dict) else None
    if not isinstance(places, list) or len(places) != 2 or not all(map(_is_size, places)):
        raise TensorFileError(f"its header cannot be read: no place of {name!r}")
    first, last = places
    return first, last


def _type_and_shape(
    name: str, value: dict[str, Any]
) -> tuple[np.dtype[Any] | None, tuple[int, ...]]:
    kind, shape = value.get("dtype"), value.get("shape")
    if not isinstance(kind, str) or not isinstance(shape, list) or not all(map(_is_size, shape)):
        raise TensorFileError(f"its header cannot be read: no type or shape of {name!r}")
    return (np.dtype(_TYPES[kind]) if kind in _TYPES else None), tuple(shape)

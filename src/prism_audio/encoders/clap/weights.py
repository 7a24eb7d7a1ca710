"""ONNX files whose weights stay on the disk until they are needed.

An export usually has its weights inside the description of the network, and onnxruntime then reads the
whole file into memory and copies it there. ONNX also allows weights that lie elsewhere: a tensor names
a file, an offset and a length, and onnxruntime maps that part of the file. :func:`outline` gives the
description of the network in which every large tensor names its place in the very same file. Nothing
is written, and the weights are not read.

The format is Protocol Buffers: a message is a row of fields, each with a number, a kind and a content,
which can be a message again.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Smaller tensors stay in the description.
_LARGE = 1024
# Numbers of the fields used here, from onnx.proto: of a model, of a graph, of a tensor, of an entry.
_GRAPH, _INITIALIZER = 7, 5
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14
_KEY, _VALUE = 1, 2
_EXTERNAL = 1
# Kinds of content: a number of variable length, eight bytes, a length and so many bytes, four bytes.
_NUMBER, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class _Field(NamedTuple):
    """A field's number, where it starts, where its content starts, and where both end."""

    number: int
    start: int
    content: int
    end: int


def outline(path: Path) -> bytes:
    """The network of an ONNX file without its large weights, each of which names its place in ``path``.

    A file that is not made of fields is a ValueError.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return b"".join(
            _message(_GRAPH, _graph(data, field, path.name))
            if field.number == _GRAPH
            else data[field.start : field.end]
            for field in _fields(data, 0, len(data))
        )


def _graph(data: mmap.mmap, graph: _Field, name: str) -> bytes:
    return b"".join(
        _message(_INITIALIZER, _tensor(data, field, name))
        if field.number == _INITIALIZER
        else data[field.start : field.end]
        for field in _fields(data, graph.content, graph.end)
    )


def _tensor(data: mmap.mmap, tensor: _Field, name: str) -> bytes:
    fields = list(_fields(data, tensor.content, tensor.end))
    raw = next((field for field in fields if field.number == _RAW_DATA), None)
    if raw is None or raw.end - raw.content < _LARGE:
        return data[tensor.content : tensor.end]
    place = {"location": name, "offset": str(raw.content), "length": str(raw.end - raw.content)}
    rest = (field for field in fields if field.number not in (_RAW_DATA, _DATA_LOCATION))
    return b"".join(
        [
            *(data[field.start : field.end] for field in rest),
            *(_message(_EXTERNAL_DATA, _entry(key, value)) for key, value in place.items()),
            _number(_DATA_LOCATION << 3 | _NUMBER) + _number(_EXTERNAL),
        ]
    )


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[_Field]:
    """The fields of the message that is ``data[start:end]``."""
    while start < end:
        tag, content = _read_number(data, start, end)
        kind = tag & 7
        if kind == _BYTES:
            size, content = _read_number(data, content, end)
            stop = content + size
        elif kind == _NUMBER:
            _, stop = _read_number(data, content, end)
        elif kind in (_EIGHT, _FOUR):
            stop = content + (8 if kind == _EIGHT else 4)
        else:
            raise ValueError(f"no field of kind {kind} is known")
        if stop > end:
            raise ValueError("it ends within a field")
        yield _Field(tag >> 3, start, content, stop)
        start = stop


def _read_number(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A number of variable length, seven bits a byte, and where it ends."""
    value = shift = 0
    while at < end:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("it ends within a number")


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def _message(number: int, content: bytes) -> bytes:
    return _number(number << 3 | _BYTES) + _number(len(content)) + content


def _entry(key: str, value: str) -> bytes:
    return _message(_KEY, key.encode()) + _message(_VALUE, value.encode())

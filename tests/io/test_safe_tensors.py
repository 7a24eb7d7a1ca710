"""Safetensors files: what is written is read by the library too; what is wrong is refused cheaply."""

from __future__ import annotations

import json
import time
import tracemalloc

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from prism_audio.io.safe_tensors import TensorFileError, dump, parse_json, read_header

TENSORS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([1.5, 2.5]),
    "empty": np.empty((0, 4), np.float16),
}


def written(tmp_path, header=None, payload=b"", length=None):
    """A file with any header: a document, or bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(text) if length is None else length
    path = tmp_path / "odd.safetensors"
    path.write_bytes(size.to_bytes(8, "little") + text + payload)
    return path


def test_the_library_reads_the_same(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(dump(TENSORS, {"z": "1", "a": "é"}))
    for name, array in load_file(path).items():
        np.testing.assert_array_equal(array, TENSORS[name])
        np.testing.assert_array_equal(read_header(path).read(name), TENSORS[name])
    with safe_open(path, "np") as opened:
        assert opened.metadata()["a"] == "é"
    assert read_header(path).is_intact()
    assert dump(TENSORS, {"z": "1", "a": "é"}) == path.read_bytes()


def test_every_changed_bit_is_noticed(tmp_path):
    path = tmp_path / "x.safetensors"
    data = dump(TENSORS, {"text": "something"})
    for place in range(8 * len(data)):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            intact = read_header(path).is_intact()
        except TensorFileError:
            continue
        # Some changes have no meaning: an escape written in other letters, for example.
        assert intact is not True or json.loads(changed[8:-40].rstrip(b"\t ")) == json.loads(
            data[8:-40]
        )


def tensor(shape=(2,), kind="F32", place=(0, 8)):
    return {"dtype": kind, "shape": list(shape), "data_offsets": list(place)}


@pytest.mark.parametrize(
    ("reason", "header"),
    [
        ("not a safetensors file", []),
        ("no table of tensors", {"__metadata__": {"a": 1}}),
        ("no table of tensors", {"__metadata__": []}),
        ("no place of 'x'", {"x": 3}),
        ("no place of 'x'", {"x": tensor(place=(0,))}),
        ("no place of 'x'", {"x": tensor(place=(-8, 0))}),
        ("no place of 'x'", {"x": tensor(place=(0, True))}),
        ("no place of 'x'", {"x": tensor(place=(0, 1e300))}),
        ("no type or shape", {"x": tensor(kind=4)}),
        ("no type or shape", {"x": tensor(shape=(2.0,))}),
        ("no type or shape", {"x": tensor(shape=(-1, -2))}),
        ("wrong place or size", {"x": tensor(shape=(3,))}),
        ("wrong place or size", {"x": tensor(shape=(2**40, 2**40))}),
        ("wrong place or size", {"x": tensor(), "y": tensor(place=(4, 12))}),
        ("wrong place or size", {"x": tensor(place=(4, 12))}),
        ("truncated: ", {"x": tensor(shape=(2**40,), place=(0, 2**42))}),
        ("oversized: 4 bytes", {"x": tensor(shape=(1,), place=(0, 4))}),
        ("a key occurs twice", b'{"x": 1, "x": 2}'),
        ("cannot be read", b'{"x": '),
        ("cannot be read", b'{"x": "\xff"}'),
        ("levels deep", b'{"x": ' + b"[" * 400 + b"]" * 400 + b"}"),
        ("levels deep", b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        ("more than 200,000 values", b'{"x": [' + b"0," * 300_000 + b"0]}"),
    ],
)
def test_wrong_headers_are_refused(reason, header, tmp_path):
    with pytest.raises(TensorFileError, match=reason):
        read_header(written(tmp_path, header, bytes(8)))


def test_a_huge_header_costs_nothing(tmp_path):
    path = written(tmp_path, b"{", length=2**27)
    with path.open("r+b") as file:  # sparse: takes no room on the disk
        file.truncate(2**28)
    tracemalloc.start()
    began = time.perf_counter()
    with pytest.raises(TensorFileError, match=r"134,217,728 bytes; at most 1,048,576"):
        read_header(path)
    assert time.perf_counter() - began < 1
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_json_that_is_fine():
    assert parse_json('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}

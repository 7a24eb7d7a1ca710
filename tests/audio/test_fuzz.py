"""Mutated files: the gate gives samples or a PrismError, and always comes back."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_audio.audio.decode import probe, stream
from prism_audio.errors import PrismError
from tests.helpers.sounds import KINDS, encoded, named, tone

NAMES = (
    *(b"LIST", b"INFO", b"adtl", b"exif", b"ISFT", b"labl", b"note", b"cue ", b"smpl", b"bext"),
    *(b"cart", b"PEAK", b"fact", b"data", b"fmt ", b"ds64", b"olym", b"emdl", b"JUNK", b"\0\0\0\0"),
)
sizes = st.one_of(
    st.integers(0, 80),
    st.integers(1, 200).map(lambda n: 2**32 - n),
    st.sampled_from([0x7FFFFFFF, 0x80000000, 1 << 20]),
)


@functools.cache
def clean(kind: str) -> bytes:
    tags = {"title": "abc"} if kind in ("wav", "flac", "ogg", "aiff") else {}
    return encoded(tone(0.05, 16000), 16000, kind, **tags)


@st.composite
def mutated(draw) -> bytes:
    """A good file with a few bytes, words or stretches of it changed, mostly near its beginning."""
    data = bytearray(clean(draw(st.sampled_from(sorted(KINDS)))))
    for _ in range(draw(st.integers(1, 6))):
        end = min(len(data), draw(st.sampled_from([48, 120, 10**6])))
        place = draw(st.integers(0, max(0, end - 1)))
        change = draw(st.sampled_from(["byte", "word", "cut", "insert", "repeat", "end"]))
        if change == "byte":
            data[place : place + 1] = draw(st.binary(min_size=1, max_size=1))
        elif change == "word":
            data[place : place + 4] = struct.pack(draw(st.sampled_from("<>")) + "I", draw(sizes))
        elif change == "cut":
            del data[place : place + draw(st.integers(1, 20))]
        elif change == "insert":
            data[place:place] = draw(st.binary(min_size=1, max_size=20))
        elif change == "repeat":
            data[place:place] = data[place : place + draw(st.integers(1, 60))]
        else:
            del data[place:]
    return bytes(data)


@st.composite
def riff(draw) -> bytes:
    """A wav file with chunks in it that are nested, misplaced, or of a false size."""

    def chunk(depth: int) -> bytes:
        inside = (
            b"".join(chunk(depth - 1) for _ in range(draw(st.integers(0, 3)))) if depth else b""
        )
        content = draw(st.sampled_from([b"", b"INFO", b"adtl", b"exif"])) + inside
        content += draw(st.binary(max_size=12))
        size = len(content) if draw(st.booleans()) else draw(sizes)
        return draw(st.sampled_from(NAMES)) + struct.pack("<I", size) + content

    extra = [chunk(2) for _ in range(draw(st.integers(1, 4)))]
    fmt = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
    data = b"data" + struct.pack("<I", draw(st.one_of(st.just(20), sizes))) + bytes(range(20))
    place = draw(st.integers(0, len(extra)))
    body = b"WAVE" + fmt + b"".join(extra[:place]) + data + b"".join(extra[place:])
    return draw(st.sampled_from([b"RIFF", b"RIFX", b"RF64"])) + struct.pack("<I", len(body)) + body


def gate(data: bytes) -> None:
    # A hang inside C holds no Python code that could notice it: the process is ended with a trace.
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        with contextlib.suppress(PrismError):
            info = probe(named(data))
            assert info.channels >= 1
        with contextlib.suppress(PrismError):
            for block in stream(named(data), 16000, block_seconds=1.0):
                assert block.dtype == np.float32
                assert block.ndim == 1
                assert block.size
                assert np.isfinite(block).all()
    finally:
        faulthandler.cancel_dump_traceback_later()


fuzzed = st.one_of(mutated(), riff())
lenient = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(lenient, max_examples=200)
@given(fuzzed)
def test_mutated_files(data):
    gate(data)


@pytest.mark.slow
@settings(lenient, max_examples=4000)
@given(fuzzed)
def test_many_mutated_files(data):
    gate(data)


@settings(lenient, max_examples=100)
@given(
    st.binary(max_size=300), st.sampled_from([b"", b"RIFF", b"fLaC", b"OggS", b"ID3", b"\xff\xfb"])
)
def test_random_bytes(data, magic):
    gate(magic + data)

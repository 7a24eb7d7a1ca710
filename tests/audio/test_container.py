"""What libsndfile may see: sound chunks only, and none of the bytes that make it hang."""

from __future__ import annotations

import io
import struct
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_audio.audio.container import View, known
from prism_audio.audio.decode import decode
from prism_audio.audio.source import OpenRecording
from prism_audio.errors import AudioError
from tests.helpers.sounds import encoded, named, noise


def chunk(name: bytes, content: bytes, size: int | None = None) -> bytes:
    return name + struct.pack("<I", len(content) if size is None else size) + content


def wav(*before: bytes, sound: np.ndarray, after: bytes = b"") -> bytes:
    samples = (sound * 32767).astype("<i2").tobytes()
    fmt = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 16000, 32000, 2, 16))
    body = b"WAVE" + fmt + b"".join(before) + chunk(b"data", samples) + after
    return chunk(b"RIFF", body)


# Sizes just below 2**32 send libsndfile's reader of metadata backwards, for ever.
HOSTILE = {
    "LIST": chunk(b"LIST", b"INFO" + chunk(b"olym", bytes(38)) + b"bext\xca\xff\xff\xff", size=300),
    "INFO": b"INFO\xe3\xff\xff\xffinst\xf7\xff\xff\xff",
}

_DECODE = """
import sys
from prism_audio.audio.decode import decode
from prism_audio.errors import AudioError
try:
    print(len(decode(sys.argv[1], 16000)))
except AudioError as error:
    print("refused")
"""


def decoded_elsewhere(path) -> str:
    """Decode in a process of its own, because a hang in C can only be ended from outside."""
    done = subprocess.run(
        [sys.executable, "-c", _DECODE, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_metadata_does_not_hang(tmp_path, name):
    sound = noise(0.1, 16000)
    path = tmp_path / "hostile.wav"
    path.write_bytes(wav(sound=sound, after=HOSTILE[name]))
    assert decoded_elsewhere(path) == "1600"
    path.write_bytes(wav(HOSTILE[name], sound=sound))
    assert decoded_elsewhere(path) in ("1600", "refused")
    path.write_bytes(b"ID3\x04\0\0\0\0\0\0" + wav(HOSTILE[name], sound=sound))
    assert decoded_elsewhere(path) in ("1600", "refused")


def test_amiga_files_whose_parser_hangs_are_refused():
    file = io.BytesIO()
    soundfile.write(file, noise(0.1, 16000), 16000, format="SVX", subtype="PCM_16")
    with pytest.raises(AudioError, match="not those of"):
        decode(named(file.getvalue(), "amiga.iff"), 16000)


def test_tags_before_and_behind_the_sound_change_nothing():
    sound = noise(0.2, 16000)
    plain = decode(named(wav(sound=sound)), 16000)
    info = chunk(b"LIST", b"INFO" + chunk(b"ISFT", b"Recorder 1\0\0"))
    odd = chunk(b"junk", b"abc") + b"\0"
    tagged = wav(odd, info, chunk(b"bext", bytes(602)), sound=sound, after=info + odd)
    assert np.array_equal(decode(named(tagged), 16000), plain)
    assert np.array_equal(
        decode(named(encoded(sound, 16000, title="a", artist="b" * 99)), 16000),
        decode(named(encoded(sound, 16000)), 16000),
    )


def test_big_endian_wav():
    file = io.BytesIO()
    sound = noise(0.2, 16000)
    soundfile.write(file, sound, 16000, format="WAV", subtype="PCM_16", endian="BIG")
    assert file.getvalue()[:4] == b"RIFX"
    np.testing.assert_allclose(decode(named(file.getvalue()), 16000), sound, atol=2**-15)


@pytest.mark.parametrize("kind", ["mp3", "flac", "wav"])
def test_id3_tags_are_stepped_over(kind):
    data = encoded(noise(0.5, 44100), 44100, kind)
    tag = b"ID3\x04\x00\x00" + bytes([0, 0, 2, 10]) + bytes(2 * 128 + 10)
    with_footer = b"ID3\x04\x00\x10" + bytes([0, 0, 0, 5]) + bytes(5) + b"3DI" + bytes(7)
    plain = decode(named(data), 44100)
    assert np.array_equal(decode(named(tag + data), 44100), plain)
    assert np.array_equal(decode(named(tag + with_footer + data), 44100), plain)


def test_millions_of_empty_chunks_are_not_walked():
    data = b"RIFF\xff\xff\xff\xffWAVE" + b"junk\0\0\0\0" * 1_000_000
    source = OpenRecording(named(data), "chunks.wav")
    source.read_at = counted = Counted(source.read_at)
    with pytest.raises(AudioError, match="leads to no sound"):
        known(source)
    assert counted.calls < 10_000


class Counted:
    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


@settings(deadline=None)  # a busy machine is no failure
@given(
    head=st.binary(max_size=20),
    body=st.binary(max_size=40),
    cut=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("read"), st.integers(0, 50), st.just(0)),
            st.tuples(st.just("seek"), st.integers(-60, 80), st.integers(0, 2)),
        ),
        max_size=12,
    ),
)
def test_a_view_behaves_as_a_file_of_its_parts(head, body, cut, steps):
    start, stop = sorted(min(end, len(body)) for end in cut)
    view = View(OpenRecording(io.BytesIO(body), "x"), head, start, stop)
    file = io.BytesIO(head + body[start:stop])
    for action, number, whence in steps:
        if action == "read":
            buffer = bytearray(number)
            count = view.readinto(buffer)
            assert bytes(buffer[:count]) == file.read(number)
        else:
            target = number + (0, file.tell(), len(file.getvalue()))[whence]
            if target >= 0:
                file.seek(target)
            view.seek(number, whence)
        assert view.tell() == file.tell()

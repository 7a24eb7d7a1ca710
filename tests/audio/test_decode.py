"""Decoding: against soundfile and soxr called by hand, whatever the kind of file and the blocks."""

from __future__ import annotations

import io
import os
import tempfile

import numpy as np
import pytest
import soundfile
import soxr

from prism_audio.audio.decode import SUFFIXES, decode, probe, stream
from prism_audio.errors import AudioError, InputError
from tests.helpers.sounds import KINDS, encoded, named, noise, tone


def by_hand(data: bytes, rate: int) -> np.ndarray:
    samples, own_rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    return soxr.resample(samples.mean(axis=1), own_rate, rate)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channels", [1, 2])
def test_every_kind_equals_soundfile_and_soxr_by_hand(kind, channels):
    sound = np.stack([tone(0.7, 44100, 300 + 200 * c) for c in range(channels)], axis=1)
    data = encoded(sound, 44100, kind)
    out = decode(named(data), 16000)
    expected = by_hand(data, 16000)
    assert out.dtype == np.float32
    assert out.shape == expected.shape
    np.testing.assert_allclose(out, expected, atol=1e-6)
    whole = decode(named(data), 44100)
    np.testing.assert_allclose(
        whole[:30000], sound.mean(axis=1)[:30000], atol=KINDS[kind][2] + 1e-6
    )


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "mp3"])
def test_the_size_of_blocks_does_not_change_the_samples(kind):
    data = encoded(noise(3.0, 44100), 44100, kind)
    whole = decode(named(data), 16000)
    for seconds in (0.013, 0.5, 2.0):
        blocks = list(stream(named(data), 16000, block_seconds=seconds))
        assert all(block.size and block.dtype == np.float32 for block in blocks)
        assert np.array_equal(np.concatenate(blocks), whole)


def test_path_open_file_and_bytes_in_memory_are_one(tmp_path):
    data = encoded(noise(0.5, 22050), 22050, "flac")
    path = tmp_path / "clip.flac"
    path.write_bytes(data)
    from_path = decode(path, 16000)
    assert np.array_equal(from_path, decode(str(path), 16000))
    with path.open("rb") as file:
        assert np.array_equal(from_path, decode(file, 16000))
        assert not file.closed
        assert np.array_equal(from_path, decode(file, 16000)), "a second use starts anew"


@pytest.mark.parametrize("in_memory", [10, 10**6])
def test_temporary_files_of_uploads(in_memory):
    with tempfile.SpooledTemporaryFile(max_size=in_memory) as upload:
        upload.write(encoded(noise(0.1, 16000), 16000))
        assert decode(upload, 16000).size == 1600
    with tempfile.SpooledTemporaryFile(max_size=in_memory) as upload:
        upload.write(b"no sound at all")
        with pytest.raises(AudioError, match=r"^<audio in memory>: its bytes are not"):
            decode(upload, 16000)


def test_file_that_reads_in_small_pieces():
    class Slow(io.BytesIO):
        def read(self, count=-1):
            return super().read(min(count, 7) if count > 0 else count)

    data = encoded(noise(0.05, 8000), 8000)
    assert np.array_equal(decode(Slow(data), 8000), decode(io.BytesIO(data), 8000))


@pytest.mark.parametrize("good_part", [0, 0.01, 0.7])
@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "mp3"])
def test_file_that_fails_while_it_is_read(kind, good_part):
    data = encoded(noise(2.0, 16000), 16000, kind)

    class Failing(io.BytesIO):
        def read(self, count=-1):
            if count > 0 and self.tell() + count > good_part * len(data):
                raise ConnectionError("the disk is gone")
            return super().read(count)

    failing = Failing(data)
    failing.name = "usb.wav"
    with pytest.raises(AudioError, match=r"usb\.wav: it cannot be read on .*the disk is gone"):
        decode(failing, 16000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this system")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.wav")
    with pytest.raises(AudioError, match="pipe or a device"):
        decode(tmp_path / "pipe.wav", 16000)


@pytest.mark.parametrize("kind", KINDS)
def test_probe_agrees_with_the_samples(kind):
    data = encoded(np.zeros((4410, 2), np.float32), 44100, kind)
    info = probe(named(data))
    assert (info.rate, info.channels) == (44100, 2)
    assert info.duration * info.rate == pytest.approx(len(decode(named(data), 44100)))
    assert info.format.split() == list(KINDS[kind][:2])


def test_a_tail_shorter_than_the_resampler_is_not_lost():
    for length in (1, 2, 3, 7, 100, 4411):
        data = encoded(tone(length / 44100, 44100), 44100, "wav-float")
        expected = max(1, round(length * 16000 / 44100))
        assert len(decode(named(data), 16000)) == expected


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"RIFF", "neither a path nor a binary file"),
        (None, "neither a path nor a binary file"),
        (np.zeros(10), "neither a path nor a binary file"),
        (io.StringIO("text"), "neither a path|not those of"),
        ("no/such/file.wav", r"no/such/file\.wav: there is no such file"),
        ("nul\0byte.wav", "cannot open it"),
        (".", "folder"),
    ],
)
def test_what_is_no_recording_is_refused(source, words):
    with pytest.raises(AudioError, match=words):
        decode(source, 16000)


def test_a_closed_file_is_refused():
    file = io.BytesIO(encoded(noise(0.1, 8000), 8000))
    file.close()
    with pytest.raises(AudioError, match="neither a path nor a binary file"):
        decode(file, 16000)


@pytest.mark.parametrize("rate", [0, -16000, 16000.5, float("nan"), None, "16000", True, 10**9])
def test_a_wrong_rate_is_refused(rate):
    with pytest.raises(InputError, match="Hz"):
        decode(named(encoded(noise(0.1, 8000), 8000)), rate)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_wrong_blocks_are_refused(seconds):
    source = named(encoded(noise(0.1, 8000), 8000))
    with pytest.raises(InputError, match="block_seconds"):
        next(stream(source, 16000, block_seconds=seconds))


def test_suffixes_can_be_matched_against_lower_case_endings():
    assert {".wav", ".flac", ".ogg", ".mp3", ".aiff", ".m4a"} <= SUFFIXES
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in SUFFIXES)

"""Files that people really have: each is decoded as expected, or refused with reason and remedy."""

from __future__ import annotations

import io
import logging
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from prism_audio.audio.decode import decode, probe, stream
from prism_audio.errors import AudioError
from tests.helpers.sounds import encoded, named, noise, tone


def refusal(data: bytes, name: str = "clip.wav") -> str:
    with pytest.raises(AudioError) as caught:
        decode(named(data, name), 16000)
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert message.count(". ") >= 1, "a reason, and then a remedy"
    return message


@pytest.mark.parametrize("name", ["noise.wav", "clip.flac", "clip.mp3", "clip.raw"])
def test_corrupt(name):
    junk = b"\x01" + np.random.default_rng(0).bytes(5000)
    assert "not those of" in refusal(junk, name)


def test_corrupt_in_the_middle():
    data = bytearray(encoded(noise(4.0, 16000), 16000, "flac"))
    data[len(data) // 2 : len(data) // 2 + 500] = bytes(500)
    assert "damaged after" in refusal(bytes(data), "clip.flac")


def test_empty():
    assert "empty (0 bytes)" in refusal(b"")


@pytest.mark.parametrize("kind", ["wav", "rf64", "aiff", "caf"])
def test_zero_length(kind):
    assert "no sound (0 samples)" in refusal(encoded(np.zeros(0, np.float32), 16000, kind))


def test_silent():
    out = decode(named(encoded(np.zeros(44100, np.float32), 44100)), 16000)
    assert out.shape == (16000,)
    assert not out.any()


def test_clipped():
    square = np.sign(tone(0.5, 16000)).astype(np.float32)
    out = decode(named(encoded(square, 16000)), 16000)
    np.testing.assert_allclose(out, square, atol=2**-15)


def test_8_bit():
    sound = tone(0.5, 16000)
    out = decode(named(encoded(sound, 16000, "wav-8-bit")), 16000)
    np.testing.assert_allclose(out, sound, atol=2**-7)


def test_32_bit_float_above_full_scale_is_kept():
    sound = 1.8 * tone(0.5, 16000, peak=1.0)
    out = decode(named(encoded(sound, 16000, "wav-float")), 16000)
    np.testing.assert_allclose(out, sound, atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_float_file_that_is_not_finite_is_refused_with_the_place(bad):
    sound = np.zeros((40000, 2), np.float32)
    sound[32000, 1] = bad
    message = refusal(encoded(sound, 16000, "wav-float"))
    assert "at sample 32000 (2.000 s)" in message
    assert "no number" in message


def test_the_place_counts_from_the_start_of_the_file_not_of_the_block():
    sound = np.zeros(48000, np.float32)
    sound[40000] = np.nan
    blocks = stream(named(encoded(sound, 16000, "wav-float")), 16000, block_seconds=1.0)
    with pytest.raises(AudioError, match=r"at sample 40000 \(2\.500 s\)"):
        list(blocks)


def test_integers_kept_as_floats_are_refused():
    message = refusal(encoded(20000 * tone(0.1, 16000, peak=1.0), 16000, "wav-float"))
    assert "full scale is 1" in message


@pytest.mark.parametrize("rate", [8000, 11025, 192000])
def test_other_rates_keep_pitch_and_length(rate):
    out = decode(named(encoded(tone(1.0, rate, 500), rate)), 16000)
    assert len(out) == 16000
    spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out))))
    assert int(spectrum.argmax()) == 500


def test_192_khz_does_not_alias():
    ultrasound = encoded(tone(1.0, 192000, 30000), 192000)
    inside = decode(named(ultrasound), 16000)[1000:-1000]  # a tone that begins is not only a tone
    assert np.abs(inside).max() < 1e-4


def test_one_sample():
    for rate in (8000, 16000, 44100, 192000):
        out = decode(named(encoded(np.array([0.25], np.float32), rate, "wav-float")), 16000)
        assert out.size >= 1
        assert np.isfinite(out).all()


def test_16_channels_are_averaged():
    sound = np.stack([noise(0.5, 16000, seed) for seed in range(16)], axis=1)
    out = decode(named(encoded(sound, 16000, "wav-float")), 16000)
    np.testing.assert_allclose(out, sound.mean(axis=1, dtype=np.float64), atol=1e-7)


def test_many_channels_at_a_high_rate_come_in_small_blocks():
    sound = np.zeros((192000, 64), np.float32)
    data = encoded(sound, 192000)
    sizes = [block.size for block in stream(named(data), 192000)]
    assert sum(sizes) == 192000
    assert max(sizes) <= 2**20 / 64


# The whole process is watched: the memory of libsndfile and soxr counts too.
_WATCH = r"""
import re, sys
from prism_audio.audio.decode import stream
from prism_audio.audio.windows import windows
count = sum(1 for _ in windows(stream(sys.argv[1], 16000), 16000, 10.0, 10.0))
print(count, re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("kind", ["wav-8-bit", "flac"])
def test_three_hours_take_no_more_memory_than_three_minutes(tmp_path, kind):
    peak = {}
    for seconds in (180, 3 * 3600):
        path = tmp_path / f"{seconds}.{kind}"
        path.write_bytes(encoded(noise(seconds, 1000), 1000, kind))
        result = subprocess.run(
            [sys.executable, "-c", _WATCH, str(path)], capture_output=True, text=True, check=True
        )
        count, kilobytes = map(int, result.stdout.split())
        assert count == seconds / 10
        peak[seconds] = kilobytes
    # Three hours at 16 kHz are 675 MB of samples.
    assert peak[3 * 3600] < peak[180] + 30_000


def lying(data: bytes, offset: int, value: bytes) -> bytes:
    return data[:offset] + value + data[offset + len(value) :]


def size_at(data: bytes, chunk: bytes) -> int:
    return data.index(chunk) + len(chunk)


@pytest.mark.parametrize("claim", [0, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF])
def test_wav_header_that_lies_about_its_length(claim):
    sound = noise(0.5, 16000)
    data = encoded(sound, 16000)
    liar = lying(data, size_at(data, b"data"), struct.pack("<I", claim))
    np.testing.assert_allclose(decode(named(liar), 16000), sound, atol=2**-15)
    assert probe(named(liar)).duration == 0.5


@pytest.mark.parametrize("claim", [0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 1 << 40])
def test_rf64_header_that_lies_about_its_length(claim):
    sound = noise(0.5, 16000)
    data = encoded(sound, 16000, "rf64")
    liar = lying(data, size_at(data, b"ds64") + 12, struct.pack("<Q", claim))
    try:
        out = decode(named(liar), 16000)
    except AudioError:
        return
    np.testing.assert_allclose(out, sound, atol=2**-15)


@pytest.mark.parametrize("kind", ["wav", "aiff", "au", "caf", "flac", "w64", "rf64"])
def test_a_huge_claim_allocates_little(kind):
    data = encoded(noise(0.5, 16000), 16000, kind)
    if kind == "flac":  # 36 bits of STREAMINFO say how many samples follow
        claims = [lying(data, 21, bytes([data[21] | 0x0F]) + b"\xff\xff\xff\xff")]
    else:
        words = [
            data[:offset] + b"\x7f\xff\xff\xf0" + data[offset + 4 :] for offset in range(4, 60)
        ]
        claims = words + [w[:4] + w[4:8][::-1] + w[8:] for w in words]
    tracemalloc.start()
    try:
        for liar in claims:
            try:
                assert sum(block.size for block in stream(named(liar), 16000)) <= 1_000_000
            except AudioError:
                continue
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_flac_that_does_not_say_its_length():
    sound = noise(0.5, 16000)
    data = encoded(sound, 16000, "flac")
    silent_about_it = lying(data, 21, bytes([data[21] & 0xF0]) + bytes(4))
    np.testing.assert_allclose(decode(named(silent_about_it), 16000), sound, atol=2**-15)
    assert probe(named(silent_about_it)).duration == pytest.approx(0.5)


def test_wav_cut_short_gives_what_is_there_and_says_so(caplog):
    sound = noise(1.0, 16000)
    data = encoded(sound, 16000)
    with caplog.at_level(logging.WARNING):
        out = decode(named(data[: 44 + 16000], "half.wav"), 16000)
    np.testing.assert_allclose(out, sound[:8000], atol=2**-15)
    assert "half.wav: cut short" in caplog.text


def test_mp3_cut_short_gives_what_is_there_and_says_so(caplog):
    data = encoded(noise(4.0, 44100), 44100, "mp3")
    with caplog.at_level(logging.WARNING):
        out = decode(named(data[: len(data) // 2], "half.mp3"), 44100)
    assert 1.5 * 44100 < len(out) < 2.5 * 44100
    assert "half.mp3: ends at" in caplog.text


def test_ogg_with_a_hole_goes_on_behind_it():
    data = bytearray(encoded(noise(4.0, 44100), 44100, "ogg"))
    middle = len(data) // 2
    data[middle : middle + 100] = bytes(100)
    heard = len(decode(named(bytes(data), "hole.ogg"), 44100))
    pages = bytes(data).rindex(b"OggS", 0, middle)
    before = soundfile.read(io.BytesIO(bytes(data[:pages])))[0]
    assert heard > len(before) + 44100 / 2


@pytest.mark.parametrize("rate", [1, 10, 999, 20_000_000])
def test_impossible_rates_are_refused(rate):
    data = encoded(noise(0.1, 16000), 16000)
    assert f"its header says {rate} Hz" in refusal(lying(data, 24, struct.pack("<I", rate)))

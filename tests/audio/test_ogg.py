"""Chained Ogg files: several streams written one after another into one file."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from prism_audio.audio.decode import decode, probe, stream
from prism_audio.audio.ogg import link_starts
from prism_audio.audio.source import OpenRecording
from prism_audio.errors import AudioError
from tests.helpers.sounds import named, noise

KINDS = [("VORBIS", 44_100), ("OPUS", 48_000)]


def ogg(sound: np.ndarray, rate: int, subtype: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, sound, rate, format="OGG", subtype=subtype)
    return file.getvalue()


@pytest.mark.parametrize(("subtype", "rate"), KINDS)
def test_all_links_are_decoded(subtype: str, rate: int) -> None:
    links = [ogg(noise(1.0, rate, seed), rate, subtype) for seed in range(3)]
    links.append(links[0])  # concatenation can give two links the same serial number
    chained = b"".join(links)
    apart = [decode(named(link), rate) for link in links]
    np.testing.assert_array_equal(decode(named(chained), rate), np.concatenate(apart))
    blocks = list(stream(named(chained), rate, block_seconds=0.1))
    np.testing.assert_array_equal(np.concatenate(blocks), np.concatenate(apart))
    info = probe(named(chained))
    assert (info.duration, info.rate) == (sum(map(len, apart)) / rate, rate)
    starts = link_starts(OpenRecording(named(chained), "chain.ogg"), 0)
    assert starts == np.cumsum([0, *map(len, links[:-1])]).tolist()


def test_bytes_between_links_are_passed_over() -> None:
    first, second = (ogg(noise(1.0, 44_100, seed), 44_100, "VORBIS") for seed in (1, 2))
    whole = decode(named(first + bytes(100_000) + second), 44_100)
    assert len(whole) == pytest.approx(88_200, abs=64)


def test_links_of_another_rate_are_refused() -> None:
    chained = ogg(noise(1.0, 44_100), 44_100, "VORBIS") + ogg(noise(1.0, 32_000), 32_000, "VORBIS")
    with pytest.raises(AudioError, match=r"radio\.ogg: .*after 1\.00 s.*rate or channels change"):
        decode(named(chained, "radio.ogg"), 16_000)


def test_a_link_that_is_cut_off_is_named_as_damage() -> None:
    link = ogg(noise(1.0, 44_100), 44_100, "VORBIS")
    with pytest.raises(AudioError, match=r"cut\.ogg: it is damaged after 1\.00 s"):
        decode(named(link + link[:60], "cut.ogg"), 16_000)


def test_a_single_stream_is_one_link() -> None:
    link = ogg(noise(3.0, 44_100), 44_100, "VORBIS")
    assert link_starts(OpenRecording(named(link), "one.ogg"), 0) == [0]
    assert link_starts(OpenRecording(named(b"OggS"), "none.ogg"), 0) == [0]

"""When a recording began: names and comments as field recorders write them."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from prism_audio.audio.timestamps import recording_start, start_in_comment, start_in_name
from tests.helpers.sounds import encoded, named, noise

MORNING = datetime(2024, 1, 31, 6, 30)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("20240131_063000.WAV", MORNING),
        ("20240131_063000T.WAV", MORNING),  # an AudioMoth that was triggered
        ("SITE_20240131_063000.wav", MORNING),
        ("SM4-12345678_20240131_063000.wav", MORNING),
        ("S4A01234_0+1_20240131_063000.wav", MORNING),
        ("PREFIX_20240131$063000.wac", MORNING),
        ("SITE-20240131T063000.flac", MORNING),
        ("day/2024-01-31_06-30-00.ogg", MORNING),
        ("20240131_0630.wav", MORNING),
        ("SITE_20240131_063000Z.wav", MORNING.replace(tzinfo=UTC)),
        ("SITE-20240131T063000+0100.wav", MORNING.replace(tzinfo=timezone(HOUR))),
        ("SITE-20240131T063000-03:30.wav", MORNING.replace(tzinfo=timezone(-3.5 * HOUR))),
        ("65B9E2A8.WAV", datetime(2024, 1, 31, 6, 3, 20, tzinfo=UTC)),
        ("20240131.WAV", None),  # a date without a time
        ("DEADBEEF.WAV", None),
        ("20240231_063000.wav", None),
        ("20240131_256000.wav", None),
        ("clip 17.wav", None),
        ("1-100032-A-0.ogg", None),
        ("", None),
    ],
)
def test_names(name: str, expected: datetime | None) -> None:
    moment = start_in_name(name)
    assert moment == expected
    assert moment is None or (moment.tzinfo is None) == (expected.tzinfo is None)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("zone", "offset"),
    [("UTC", 0), ("UTC+1", 1), ("UTC-3", -3), ("UTC+5:30", 5.5), ("UTC+10", 10)],
)
def test_comments(zone: str, offset: float) -> None:
    text = f"Recorded at 06:30:00 31/01/2024 ({zone}) by AudioMoth 24F31901603710B9 at gain 2."
    assert start_in_comment(text) == MORNING.replace(tzinfo=timezone(offset * HOUR))
    part = f"Recorded at 06:30:00.250 31/01/2024 ({zone})"
    assert start_in_comment(part) == start_in_comment(text) + timedelta(milliseconds=250)  # type: ignore[operator]


def test_other_comments_say_nothing() -> None:
    assert start_in_comment("") is None
    assert start_in_comment("Recorded at 06:30:00 31/02/2024 (UTC)") is None
    assert start_in_comment("recorded in the garden") is None


def with_comment(text: bytes) -> bytes:
    data = encoded(noise(0.1, 16_000), 16_000)
    tag = b"ICMT" + struct.pack("<I", len(text)) + text + bytes(len(text) % 2)
    info = b"LIST" + struct.pack("<I", 4 + len(tag)) + b"INFO" + tag
    at = data.index(b"data")
    return data[:at] + info + data[at:]


def test_the_comment_of_a_file_counts_more_than_its_name(tmp_path: Path) -> None:
    path = tmp_path / "20230101_000000.WAV"
    path.write_bytes(
        with_comment(b"Recorded at 06:30:00 31/01/2024 (UTC+1) by AudioMoth 24F3\0\0\0")
    )
    assert recording_start(path) == MORNING.replace(tzinfo=timezone(HOUR))
    path.write_bytes(with_comment(b"hello"))
    assert recording_start(path) == datetime(2023, 1, 1)
    flac = named(encoded(noise(0.1, 16_000), 16_000, "flac"), "SITE_20240131_063000.flac")
    assert recording_start(flac) == MORNING
    assert recording_start(named(encoded(noise(0.1, 16_000), 16_000), "clip.wav")) is None


@pytest.mark.parametrize("size", [0, 3, 2**31, 2**32 - 8])
def test_damaged_comments_are_passed_over(size: int) -> None:
    data = with_comment(b"Recorded at 06:30:00 31/01/2024 (UTC)")
    at = data.index(b"LIST") + 4
    broken = data[:at] + struct.pack("<I", size) + data[at + 4 :]
    assert recording_start(named(broken, "20240131_063000.WAV")) is not None

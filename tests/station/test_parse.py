from __future__ import annotations

import io
from pathlib import Path
from threading import Event

import pytest

from prism_audio.errors import InputError
from prism_audio.station.parse import InputSettings, parse_source, parse_sources
from prism_audio.station.sources import (
    File,
    Folder,
    Microphone,
    Network,
    RawSamples,
    Recording,
    Surroundings,
)
from tests.helpers.bands import tone, write

SETTINGS = InputSettings(io.BytesIO, rate=16_000)


def test_kinds_and_names(tmp_path: Path) -> None:
    write(tmp_path / "Main Street.wav", tone(2, 0.5, 0))
    for text, kind, name in [
        ("mic", Microphone, "mic"),
        ("porch=mic", Microphone, "porch"),
        ("-", RawSamples, "stdin"),
        (f"{tmp_path}/Main Street.wav", File, "main-street"),
        (f"field={tmp_path}", Folder, "field"),
        ("rtsp://user:secret@cam.local:8554/front?a=b", Network, "cam-local-front"),
        ("gate=rtsp://user:secret@cam.local/front", Network, "gate"),
    ]:
        source = parse_source(text, SETTINGS)
        assert (type(source), source.name) == (kind, name)
        assert "secret" not in source.address


def test_what_is_no_source(tmp_path: Path) -> None:
    for text, words in [
        ("ftp://host/x", "not the address"),
        (str(tmp_path / "x.wav"), "no such"),
        ("x=y", "no such"),
    ]:
        with pytest.raises(InputError, match=words):
            parse_source(text, SETTINGS)
    with pytest.raises(InputError, match="--rate"):
        parse_source("-", InputSettings(io.BytesIO))
    with pytest.raises(InputError, match="front=mic"):
        parse_sources(["mic", "mic"], SETTINGS)


def test_a_folder_leaves_out_what_was_heard_and_what_cannot_be_read(tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav", "sub/c.wav"):
        write(tmp_path / name, tone(2, 0.5, 0))
    (tmp_path / "bad.wav").write_bytes(b"this is no sound")
    told: list[str] = []
    around = Surroundings(
        8000,
        Event(),
        lambda state, message: told.append(message),
        60.0,
        lambda name, changed: name == "b.wav",
    )
    heard: list[Recording] = []
    for recording in Folder("field", tmp_path, settle=0.0).recordings(around):
        heard.append(recording)
        assert sum(map(len, recording.blocks)) == 4000
        if len(heard) == 2:
            around.stop.set()
    assert {recording.name for recording in heard} == {"a.wav", "sub/c.wav"}
    assert all("bad.wav cannot be read" in message for message in told if "live" not in message)

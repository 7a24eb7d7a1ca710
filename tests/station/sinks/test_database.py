from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from prism_audio.audio.watchdog import StreamState
from prism_audio.errors import PrismError
from prism_audio.station.messages import RecordingEnd, SourceState, Tick
from prism_audio.station.sinks.database import Database
from prism_audio.station.sources import Microphone
from tests.helpers.station import START, event, rows

YARD = [Microphone("yard")]


def opened(path: Path) -> Database:
    database = Database(path, YARD)
    database.start()
    return database


def test_what_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    database = opened(path)
    heard = event(scores=(("dog", 0.5), ("siren", 0.1)), announced=False, clip=tmp_path / "x.flac")
    assert database.write(event(over=False)) is False  # a beginning is no event yet
    assert database.write(heard)
    database.write(SourceState("yard", StreamState.silent, "yard: silence for 60 s", START))
    database.close()
    query = (
        "SELECT e.id, s.name, s.state, label, started, ended, score, announced, clip, encoder, labels "
        "FROM events e JOIN sources s ON s.id = source_id JOIN adapters a ON a.id = adapter_id"
    )
    ((*found, encoder, labels),) = rows(path, query)
    clock = ("2026-05-04T09:30:00.000Z", "2026-05-04T09:30:02.000Z")
    wanted = [heard.id, "yard", "silent", "dog", *clock, 0.5, 0, str(tmp_path / "x.flac")]
    assert found == wanted
    assert (encoder, labels) == ("", '["dog", "siren"]')
    scores = rows(path, "SELECT event_id, label, score FROM scores ORDER BY score")
    assert scores == [(heard.id, "siren", 0.1), (heard.id, "dog", 0.5)]
    assert rows(path, "PRAGMA user_version") == [(1,)]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_nothing_twice_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    first = event(recording="a.wav")
    database = opened(path)
    database.write(first)
    database.write(RecordingEnd("yard", "a.wav", 17))
    database.close()
    again = opened(path)
    assert again.is_finished("yard", "a.wav", 17)
    assert not again.is_finished("yard", "a.wav", 18)  # another recording of the same name
    assert not again.is_finished("gate", "a.wav", 17)
    late = event(recording="a.wav", started=START + timedelta(milliseconds=480))
    assert again.knows(first)
    assert again.knows(late)  # the same, heard a hop later
    assert not again.knows(event(recording="b.wav", started=late.started))
    assert not again.knows(event("siren", recording="a.wav"))
    assert not again.knows(event(started=late.started))  # live sound is never heard again
    again.write(first)
    assert len(rows(path)) == 1
    again.close()


def test_a_full_database_takes_everything_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    database = opened(path)
    blocker = sqlite3.connect(path)
    blocker.execute("PRAGMA busy_timeout = 0")
    blocker.execute("BEGIN IMMEDIATE")  # nobody else can write, as on a full disk
    assert database._connection is not None
    database._connection.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(sqlite3.Error):
        database.write(event())
    blocker.rollback()
    blocker.close()
    assert database.write(Tick())
    assert [label for _, label, _ in rows(path)] == ["dog"]
    assert database.write(Tick()) is False
    database.close()


def test_a_database_of_others_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE songs (name TEXT)")
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer:
        newer.execute("PRAGMA user_version = 99")
    (tmp_path / "text.db").write_text("no database at all, " * 100)
    for name, words in [
        ("other", "another program"),
        ("newer", "newer version"),
        ("text", "cannot use"),
        ("absent/x", "cannot use"),
    ]:
        with pytest.raises(PrismError, match=words):
            Database(tmp_path / f"{name}.db", YARD).start()

"""Events in an SQLite database that survives a killed process, a full disk and a loss of power."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism_audio.errors import PrismError
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import iso_date, rounded_weight, verdict_of
from prism_audio.station.messages import Message, RecordingEnd, SourceState, StationEvent, iso
from prism_audio.station.sinks.schema import prepare
from prism_audio.station.sources import Source

# Statements that wait in memory while the disk is full.
MOST_WAITING = 100_000

Statement = tuple[str, tuple[Any, ...]]


class Database:
    """A sink that records events, the states of sources and which recordings have been heard.

    What cannot be written now waits in memory and is written later, in order.

    Parameters
    ----------
    path : path
        The database; made where it is absent.
    sources : sequence of Source
        Those of the station.
    """

    announces = False

    def __init__(self, path: Path, sources: Sequence[Source]) -> None:
        self.name, self._path, self._sources = f"database {path}", path, sources
        self._connection: sqlite3.Connection | None = None
        self._waiting: deque[Statement] = deque(maxlen=MOST_WAITING)
        self._finished: dict[tuple[str, str], int] = {}
        self._digests: dict[int, tuple[Adapter, str]] = {}

    def start(self) -> None:
        try:
            connection = self._open()
            rows = connection.execute(
                "SELECT s.name, r.name, r.changed FROM recordings r JOIN sources s ON s.id = source_id"
            )
            self._finished = {(source, name): changed for source, name, changed in rows}
            for source in self._sources:
                self._add(
                    "INSERT INTO sources (name, address) VALUES (?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET address = excluded.address",
                    source.name,
                    source.address,
                )
            self._flush()
        except sqlite3.Error as error:
            raise PrismError(f"cannot use the database {self._path}: {error}") from None

    def write(self, message: Message) -> bool:
        if isinstance(message, StationEvent) and message.over:
            self._add_event(message)
        elif isinstance(message, SourceState):
            self._add(
                "UPDATE sources SET state = ?, message = ?, changed = ? WHERE name = ?",
                message.state.value,
                message.message,
                iso(message.at),
                message.source,
            )
        elif isinstance(message, RecordingEnd):
            self._finished[message.source, message.recording] = message.changed
            self._add(
                "INSERT OR REPLACE INTO recordings "
                "VALUES ((SELECT id FROM sources WHERE name = ?), ?, ?, ?)",
                message.source,
                message.recording,
                message.changed,
                message.failure,
            )
        return self._flush()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._close()

    def knows(self, event: StationEvent) -> bool:
        """Whether an event is recorded, perhaps with another start where a file is heard again."""
        if self._connection is None:
            return False
        query = (
            "SELECT 1 FROM events e JOIN sources s ON s.id = source_id WHERE e.id = ? OR "
            "(s.name = ? AND e.label = ? AND e.recording = ? AND started <= ? AND ended >= ?)"
        )
        span = iso(event.ended), iso(event.started)
        values = (event.id, event.source, event.label, event.recording, *span)
        try:
            return self._connection.execute(query, values).fetchone() is not None
        except sqlite3.Error:  # the id keeps it from being written twice
            return False

    def is_recorded(self, id: str) -> bool:
        """Whether the event of an id is recorded; also True while that cannot be told."""
        if self._connection is None:
            return True
        try:
            found = self._connection.execute("SELECT 1 FROM events WHERE id = ?", (id,))
            return found.fetchone() is not None
        except sqlite3.Error:
            return True

    def is_finished(self, source: str, recording: str, changed: int) -> bool:
        """Whether a recording has been heard to its end."""
        return self._finished.get((source, recording)) == changed

    def forget_clip(self, clip: Path) -> None:
        """A clip has been removed."""
        self._add("UPDATE events SET clip = NULL WHERE clip = ?", str(clip))

    def _add_event(self, event: StationEvent) -> None:
        digest = self._digest(event.adapter)
        facts = event.adapter.facts
        self._add(
            "INSERT OR IGNORE INTO adapters "
            "(digest, encoder, place, verdict, weight, calibrated, labels) VALUES (?,?,?,?,?,?,?)",
            digest,
            event.adapter.encoder,
            facts.place,
            verdict_of(event.adapter),
            rounded_weight(facts),
            iso_date(facts),
            json.dumps(event.adapter.labels),
        )
        self._add(
            "INSERT OR IGNORE INTO events VALUES (?, (SELECT id FROM sources WHERE name = ?), "
            "(SELECT id FROM adapters WHERE digest = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            event.id,
            event.source,
            digest,
            event.label,
            iso(event.started),
            iso(event.ended),
            round(event.score, 6),
            event.confidence,
            event.windows,
            event.announced,
            event.recording,
            None if event.recording is None else round(event.start, 3),
            None if event.clip is None else str(event.clip),
        )
        for label, score in event.scores:
            self._add(
                "INSERT OR IGNORE INTO scores VALUES (?, ?, ?)", event.id, label, round(score, 6)
            )

    def _digest(self, adapter: Adapter) -> str:
        """A name for an adapter; computed once for each in use."""
        known = self._digests.get(id(adapter))
        if known is None:
            content = hashlib.sha256(json.dumps(adapter.labels).encode())
            for array in (adapter.W, adapter.prototypes):
                content.update(array.tobytes())
            known = adapter, content.hexdigest()[:16]
            self._digests = {**dict(list(self._digests.items())[-7:]), id(adapter): known}
        return known[1]

    def _add(self, statement: str, *values: Any) -> None:
        self._waiting.append((statement, values))

    def _flush(self) -> bool:
        """Write what waits, all of it or nothing; whether there was anything."""
        if not self._waiting:
            return False
        try:
            connection = self._connection or self._open()
            with connection:
                for statement, values in self._waiting:
                    connection.execute(statement, values)
        except sqlite3.Error:
            self._close()  # what a failed write left behind goes with the connection
            raise
        self._waiting.clear()
        return True

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5.0, check_same_thread=False)
        for setting in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "journal_size_limit = 4194304",
        ):
            connection.execute(f"PRAGMA {setting}")
        prepare(connection, str(self._path))
        self._connection = connection
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

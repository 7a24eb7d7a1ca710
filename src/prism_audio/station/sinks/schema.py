"""The tables of a station's database, and their version."""

from __future__ import annotations

import sqlite3

from prism_audio.errors import PrismError

VERSION = 1

TABLES = """
CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    state TEXT,              -- connecting, live, silent, lost or ended
    message TEXT,
    changed TEXT             -- when the state changed
);
CREATE TABLE adapters (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    encoder TEXT NOT NULL,
    place TEXT NOT NULL,
    verdict TEXT NOT NULL,
    weight REAL,
    calibrated TEXT,
    labels TEXT NOT NULL     -- a JSON list
);
CREATE TABLE events (
    id TEXT PRIMARY KEY,     -- the same whenever the same sound is heard; names the clip
    source_id INTEGER NOT NULL REFERENCES sources (id),
    adapter_id INTEGER NOT NULL REFERENCES adapters (id),
    label TEXT NOT NULL,
    started TEXT NOT NULL,   -- UTC with milliseconds, as all times here
    ended TEXT NOT NULL,
    score REAL NOT NULL,
    confidence REAL,
    windows INTEGER NOT NULL,
    announced INTEGER NOT NULL,
    recording TEXT,          -- the file it was heard in, and where in it, in seconds
    start_in_recording REAL,
    clip TEXT
) WITHOUT ROWID;
CREATE INDEX events_by_time ON events (source_id, started);
CREATE INDEX events_by_clip ON events (clip) WHERE clip IS NOT NULL;
CREATE TABLE scores (
    event_id TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (event_id, label)
) WITHOUT ROWID;
CREATE TABLE recordings (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    name TEXT NOT NULL,
    changed INTEGER NOT NULL, -- its time of change, in nanoseconds
    failure TEXT,
    PRIMARY KEY (source_id, name)
) WITHOUT ROWID;
"""


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables of a new database; refuse one that is not ours or of a newer version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if version == VERSION:
        return
    if version or tables:
        kind = "a newer version of prism" if version > VERSION else "another program"
        raise PrismError(f"{path} was made by {kind}; give another file for --db")
    # One transaction: a process that is killed here leaves an empty database.
    connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")

"""Bring a store up to date with a folder: embed what is new or changed, and nothing else.

A recording is done if its size and time of change are those on record; if only the time differs, the
hash of its content decides. What failed before is tried again, after everything else, so that earlier
failures do not shift the groups in which new recordings are embedded. The recordings of a damaged
shard are embedded again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from prism_audio.datasets.folder import audio_files, nothing_found
from prism_audio.encoders.embedding.engine import (
    GROUP_FILES,
    Clip,
    Failure,
    Progress,
    Silent,
    embed_files,
)
from prism_audio.encoders.protocol import Encoder
from prism_audio.store.shards import Entry
from prism_audio.store.store import StoreSettings
from prism_audio.store.writer import StoreWriter

# A function that takes and gives what ``embed_files`` does; results of a group become a shard.
Embedding = Callable[..., Generator[Clip | Failure, None, None]]


@dataclass
class Report:
    """The outcome of a run: counts of files, seconds of sound, and the failures."""

    # Files in the folder; those already done; those embedded now.
    found: int = 0
    skipped: int = 0
    embedded: int = 0
    kept: int = 0  # files in the store that the folder no longer has; their rows stay
    seconds: float = 0.0  # sound embedded now
    # Files that could not be embedded, this time or again.
    failures: list[Failure] = field(default_factory=list)
    # Shards that were damaged and are replaced now, in words.
    damaged: list[str] = field(default_factory=list)


def update_store(
    folder: str | Path,
    out: str | Path,
    encoder: Encoder,
    *,
    row: str = "clip",
    workers: int | None = None,
    shard: int = GROUP_FILES,
    progress: Progress | None = None,
    embed: Embedding = embed_files,
) -> Report:
    """Embed the recordings below ``folder`` into the store ``out``, skipping what is done.

    Parameters
    ----------
    row : str
        ``clip`` for a row a recording, ``window`` for a row a window.
    workers : int, optional
        Threads that decode; by default one for every core.
    shard : int
        Write to the disk after this many files (or half an hour of sound). The process may die at
        any instant: at most this much work is lost.
    embed : Embedding
        Who does the work: by default threads of this process.
    """
    folder, progress = Path(folder), progress or Silent()
    report = Report()
    files = audio_files(
        folder, lambda path, error: report.failures.append(Failure(path, str(error.strerror)))
    )
    if not files and not report.failures:
        raise nothing_found(folder)
    with StoreWriter(Path(out), StoreSettings.of(encoder, row), folder) as writer:
        known, report.damaged = writer.store.files, writer.damaged
        state = {path: _stamp(path, path.relative_to(folder).as_posix()) for path in files}
        fresh, again = [], []
        for path, stamp in state.items():
            entry = known.get(stamp.path)
            if entry is None or _changed(path, stamp, entry):
                fresh.append(path)
            elif entry.reason:
                again.append(path)
        report.found, report.skipped = len(files), len(files) - len(fresh) - len(again)
        report.kept = _gone(
            known, state.values(), [fault.path for fault in report.failures], folder
        )
        sizes = [max(0, state[path].size) for path in (*fresh, *again)]
        progress.begin(len(sizes), sum(sizes))
        for todo in (fresh, again):
            results = embed(
                todo,
                encoder,
                per_window=row == "window",
                workers=workers,
                group_files=shard,
                on_audio=progress.audio,
            )
            with closing(results):
                for _, group in groupby(results, key=lambda result: result.group):
                    _append(writer, group, state, encoder, report, progress)
    return report


def _gone(
    known: Mapping[str, Entry], seen: Iterable[Entry], unreadable: Sequence[Path], folder: Path
) -> int:
    """How many recordings with rows the folder no longer has; what cannot be seen is not gone."""
    gone = {name for name, entry in known.items() if entry.rows} - {entry.path for entry in seen}
    hidden = tuple(f"{path.relative_to(folder).as_posix()}/" for path in unreadable)
    return sum(not name.startswith(hidden) for name in gone)


def _append(
    writer: StoreWriter,
    group: Iterable[Clip | Failure],
    state: dict[Path, Entry],
    encoder: Encoder,
    report: Report,
    progress: Progress,
) -> None:
    """Write one group of results as one shard."""
    entries: list[Entry] = []
    rows, start, end = [np.empty((0, encoder.dim), np.float32)], [np.empty(0)], [np.empty(0)]
    for result in group:
        stamp = state[result.path]
        content = _content(result.path, stamp) if isinstance(result, Clip) else ""
        if isinstance(result, Clip) and not content:
            reason = "it changed while it was being embedded; run the same command again"
            result = Failure(result.path, reason)
        if isinstance(result, Failure):
            entries.append(stamp._replace(reason=result.reason))
            report.failures.append(result)
        else:
            entries.append(stamp._replace(sha256=content, rows=len(result.start)))
            rows.append(result.rows(encoder))
            start.append(result.start)
            end.append(result.end)
            report.embedded += 1
            report.seconds += result.seconds
        progress.file(max(0, stamp.size))
    # A file that fails again for the same reason must not make the store grow at every run.
    if any(writer.store.files.get(entry.path) != entry for entry in entries):
        writer.append(entries, np.concatenate(rows), np.concatenate(start), np.concatenate(end))


def _stamp(path: Path, name: str) -> Entry:
    try:
        found = path.stat()
    except OSError:  # gone, or a link to nothing; the decoder will say so
        return Entry(name, -1, 0)
    return Entry(name, found.st_size, found.st_mtime_ns)


def _changed(path: Path, stamp: Entry, entry: Entry) -> bool:
    """Whether a file is another than the one on record."""
    if (stamp.size, stamp.mtime_ns) == (entry.size, entry.mtime_ns):
        return False
    return stamp.size != entry.size or _content(path, stamp) != entry.sha256


def _content(path: Path, stamp: Entry) -> str:
    """The hash of a file's content; empty if it is no longer the file that was stamped."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
    return digest if _stamp(path, stamp.path) == stamp else ""

"""Event files on disk: written into a folder or one file, and read back as truth."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from prism_audio.errors import InputError
from prism_audio.io.atomic import atomic_write
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.formats import FORMATS, READABLE, EventFormat, Recording, TimedLabel

# The table of all recordings that Raven opens together.
COMBINED = "all"


def format_named(name: str) -> EventFormat:
    """The format of a name, or an error that lists them."""
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def recordings_of(batch: Batch) -> list[Recording]:
    """The recordings of a batch, with their length and rate."""
    ends: dict[str, float] = {}
    for file, end in zip(batch.files, batch.end, strict=True):
        ends[file] = max(ends.get(file, 0.0), float(end))
    return [Recording(file, end, _rate(file)) for file, end in ends.items()]


def _rate(file: str) -> int:
    """The rate of a recording; where it cannot be told, the most common one."""
    import soundfile

    try:
        return int(soundfile.info(file).samplerate)
    except (RuntimeError, OSError, TypeError):
        return 48_000


def write_events(
    target: str | os.PathLike[str],
    form: EventFormat,
    events: Sequence[TimedLabel],
    recordings: Sequence[Recording],
) -> list[Path]:
    """Write the events of recordings; gives the files that were written.

    A format that takes all recordings in one file writes ``target``, or ``events`` with its suffix
    where ``target`` is a folder. The others write a file a recording into the folder ``target``, in
    sub-folders as the recordings are. Raven also gets a table of all recordings.
    """
    path = Path(target)
    if form.combined:
        file = path / f"events{form.suffix}" if path.is_dir() else path
        return [_write(file, form.write(events, recordings))]
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: {form.name} writes a file a recording; name a folder")
    folders = [str(Path(recording.file).parent) for recording in recordings]
    common = os.path.commonpath(folders) if folders else "."
    written = []
    for recording in recordings:
        below = Path(os.path.relpath(recording.file, common))
        mine = [event for event in events if event.file == recording.file]
        file = path / below.parent / f"{below.stem}{form.suffix}"
        written.append(_write(file, form.write(mine, [recording])))
    if form.name == "raven" and len(recordings) > 1:
        written.append(_write(path / f"{COMBINED}{form.suffix}", form.write(events, recordings)))
    return written


def read_events(source: str | os.PathLike[str]) -> list[TimedLabel]:
    """The events of a file or folder in a format that can be read: audacity, raven or sed.

    Events are named by the stem of their recording, so that truth and results meet whatever folder
    each is in.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in (".txt", ".tsv"))
        combined = [p for p in files if p.name == f"{COMBINED}{READABLE['raven'].suffix}"]
        files = [p for p in files if p not in combined]
        if not files:
            raise InputError(f"{path} holds no .txt or .tsv file of events")
        return [event for file in files for event in read_events(file)]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text ({error})") from None
    if text.startswith("Selection\t") or "Begin Time (s)" in text.split("\n", 1)[0]:
        form = READABLE["raven"]
    elif path.suffix == ".tsv" or text.startswith("filename\t"):
        form = READABLE["sed"]
    else:
        form = READABLE["audacity"]
    name = path.name.removesuffix(READABLE["raven"].suffix).removesuffix(".txt")
    events = form.read(text, str(path))
    return [e._replace(file=name if e.file == str(path) else Path(e.file).stem) for e in events]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())
    return path

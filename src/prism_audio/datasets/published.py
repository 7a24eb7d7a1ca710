"""Common parts of the published datasets: labelled clips in folds, and errors for incomplete copies."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prism_audio.audio.decode import SUFFIXES
from prism_audio.errors import InputError

_SHOWN = 3


@dataclass(frozen=True)
class Published:
    """A labelled dataset as its authors publish it."""

    name: str  # ``esc50``, ``us8k``, ``tau2019`` or ``folder``
    files: list[Path]  # the clips, in the order of the dataset's own table
    classes: list[str]  # names of the classes, in the order of their numbers
    labels: list[int]  # the class of every clip
    folds: list[int]  # the fold of every clip, from 1 on
    # What else divides the clips, for example the recording device; empty if nothing does.
    groups: list[str] = field(default_factory=list)
    # The recording that each clip was cut from; clips of one source are alike. Empty if unknown.
    sources: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.files)


@dataclass(frozen=True)
class DatasetOrigin:
    """Where a dataset comes from and what its folder looks like, for messages."""

    title: str
    home: str
    layout: str

    def missing(self, folder: Path, what: str) -> InputError:
        """The error for a folder that lacks something."""
        return InputError(
            f"{folder} is not a complete copy of {self.title}: {what}. The published layout is needed: "
            f"{self.layout}. It is available from {self.home}."
        )


def read_table(
    folder: Path,
    names: Sequence[str],
    columns: Iterable[str],
    source: DatasetOrigin,
    delimiter: str = ",",
) -> list[dict[str, str]]:
    """The rows of the first of several possible tables that exists, checked for its columns."""
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise source.missing(folder, f"there is no {' or '.join(names)}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter=delimiter)
            lacking = set(columns) - set(reader.fieldnames or ())
            if lacking:
                raise source.missing(folder, f"{path.name} has no column {sorted(lacking)[0]!r}")
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise source.missing(folder, f"{path.name} cannot be read as a table ({error})") from error
    if not rows:
        raise source.missing(folder, f"{path.name} names no clip")
    return rows


def load_numbered(
    name: str,
    folder: str | os.PathLike[str],
    source: DatasetOrigin,
    tables: Sequence[str],
    columns: tuple[str, str, str, str, str],
    place: str,
) -> Published:
    """A dataset whose table gives every clip a fold, and its class as a number and a name.

    The table is the first of ``tables`` that is there. Its ``columns`` hold file name, fold, number and
    name of the class, and original recording. ``place`` is the path of a clip, with ``{name}`` for its
    file name and perhaps ``{fold}``.
    """
    root = Path(folder)
    rows = read_table(root, tables, columns, source)
    file, fold, number, label, recording = columns
    folds = [whole_number(row, fold, source, root) for row in rows]
    named = zip((row[file] for row in rows), folds, strict=True)
    clips = find_clips(root, (place.format(name=n, fold=f) for n, f in named), source)
    labels = [whole_number(row, number, source, root) for row in rows]
    classes = class_names(labels, [row[label] for row in rows], source, root)
    sources = [row[recording] for row in rows]
    return Published(name, clips, classes, labels, folds, sources=sources)


def find_clips(folder: Path, names: Iterable[str], source: DatasetOrigin) -> list[Path]:
    """The files of those names relative to the folder, with any audio suffix.

    Many copies are kept as flac or ogg while the table says ``.wav``.
    """
    clips: list[Path] = []
    absent: list[str] = []
    folders: dict[Path, dict[str, Path]] = {}
    for name in names:
        wanted = folder / name
        if wanted.parent not in folders:
            folders[wanted.parent] = _audio_in(wanted.parent)
        files = folders[wanted.parent]
        path = files.get(wanted.name) or files.get(wanted.stem)
        if path is None:
            absent.append(name)
        else:
            clips.append(path)
    if absent:
        shown = ", ".join(absent[:_SHOWN]) + (", ..." if len(absent) > _SHOWN else "")
        total = len(clips) + len(absent)
        raise source.missing(folder, f"{len(absent)} of {total} clips are missing ({shown})")
    return clips


def whole_number(row: dict[str, str], column: str, source: DatasetOrigin, folder: Path) -> int:
    """A cell that must hold a whole number."""
    try:
        return int(row[column])
    except (TypeError, ValueError):
        what = f"its table has {row[column]!r} in the column {column!r}, no whole number"
        raise source.missing(folder, what) from None


def class_names(
    numbers: Sequence[int], names: Sequence[str], source: DatasetOrigin, folder: Path
) -> list[str]:
    """Names in the order of their numbers, which must run from 0 on, each with one name."""
    known: dict[int, str] = {}
    for number, name in zip(numbers, names, strict=True):
        if known.setdefault(number, name) != name:
            what = f"class {number} is called {known[number]!r} and {name!r}"
            raise source.missing(folder, what)
    if sorted(known) != list(range(len(known))):
        raise source.missing(folder, f"its classes are numbered {sorted(known)}, not from 0 on")
    return [known[number] for number in sorted(known)]


def _audio_in(folder: Path) -> dict[str, Path]:
    """The recordings in a folder by their name, and by their name without suffix."""
    if not folder.is_dir():
        return {}
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES]
    return {path.stem: path for path in reversed(files)} | {path.name: path for path in files}

"""Recordings below a folder, and folders whose sub-folders are the classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prism_audio.audio.decode import SUFFIXES
from prism_audio.errors import InputError


def audio_files(
    folder: str | Path, onerror: Callable[[Path, OSError], None] | None = None
) -> list[Path]:
    """Every recording below a folder, sorted by its path relative to that folder.

    A recording is known by its suffix, in upper or lower case. Hidden files and folders are left out.
    Linked folders are followed, but each folder is read once however many names lead to it (its own
    name first), so that a link can neither trap the search nor count a recording twice. A link to
    nothing, or to itself, stays in the list: the decoder will say that it cannot be read. ``onerror`` is
    given the path and the error of a sub-folder that cannot be read; without it the error is raised.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder; give the folder that holds the recordings")
    recordings: list[Path] = []
    seen: set[tuple[int, int]] = set()
    waiting: list[Path] = [root]
    links: list[Path] = []
    while waiting or links:
        here = waiting.pop() if waiting else links.pop()
        try:
            where = here.stat()
            if (where.st_dev, where.st_ino) in seen:
                continue
            seen.add((where.st_dev, where.st_ino))
            with os.scandir(here) as entries:
                shown = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            if here == root or onerror is None:
                reason = error.strerror or str(error)
                raise InputError(f"cannot read the folder {here}: {reason}") from error
            onerror(here, error)
            continue
        # Sorted, so that among several links to one folder it is always the same that counts.
        for entry in sorted(shown, key=lambda entry: entry.name, reverse=True):
            kind = _kind(entry)
            if kind == "folder":
                (links if entry.is_symlink() else waiting).append(here / entry.name)
            elif kind == "recording":
                recordings.append(here / entry.name)
    return sorted(recordings, key=lambda path: path.relative_to(root).as_posix())


def nothing_found(folder: Path) -> InputError:
    """The error for a folder without recordings, for those who need some."""
    return InputError(f"no recording below {folder}; known suffixes: {' '.join(sorted(SUFFIXES))}")


def _kind(entry: os.DirEntry[str]) -> str:
    """``folder``, ``recording``, or ``other``."""
    try:
        if entry.is_dir():
            return "folder"
        # A pipe or a device named like a recording would block its reader for ever.
        openable = entry.is_file() or not os.path.exists(entry.path)
    except OSError:  # a link to itself, or one that must not be followed: its reader will say so
        openable = True
    is_recording = openable and os.path.splitext(entry.name)[1].lower() in SUFFIXES
    return "recording" if is_recording else "other"


@dataclass(frozen=True)
class ClassFolders:
    """Recordings with the class that their folder names."""

    files: list[Path]  # the recordings, sorted
    classes: list[str]  # the names of the classes, sorted
    labels: list[int]  # for every recording the index of its class in ``classes``


def class_folders(folder: str | Path) -> ClassFolders:
    """A labelled dataset: each sub-folder is a class, whatever depth its recordings lie at.

    A recording beside the sub-folders has no class and is an error.
    """
    root = Path(folder)
    files = audio_files(root)
    if not files:
        raise nothing_found(root)
    stray = [file for file in files if file.parent == root]
    if stray:
        raise InputError(
            f"{stray[0]} (one of {len(stray)}) has no class: it lies beside the class folders; "
            "move it into the folder of its class"
        )
    names = [file.relative_to(root).parts[0] for file in files]
    classes = sorted(set(names))
    index = {name: number for number, name in enumerate(classes)}
    return ClassFolders(files, classes, [index[name] for name in names])

"""Read what a command was given: recordings under a progress bar, stores in chunks, a place's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prism_audio.cli.console import ProgressBar, end, note, printable
from prism_audio.errors import InputError

if TYPE_CHECKING:
    from prism_audio.labelling.batch import Batch
    from prism_audio.labelling.sources import Classes
    from prism_audio.out_of_core.chunks import Chunks


@dataclass(frozen=True, eq=False)
class Chunked:
    """Rows that are read in chunks, and what embedded them, where that is known."""

    source: Chunks
    encoder: str = ""
    fingerprint: str = ""


def gather_batch(paths: Sequence[Path], classes: Classes, *, windows: bool = False) -> Batch:
    """The embeddings; recordings are embedded under a progress bar on standard error.

    Ends the command, with the reasons, where not one recording could be read.
    """
    from prism_audio.labelling.batch import kind_of
    from prism_audio.labelling.sources import read_rows

    warn_of_labels(classes)
    if kind_of(paths) == "audio":
        with ProgressBar("looking", "embedding") as bar:
            batch = read_rows(paths, classes, windows=windows, progress=bar)
    else:
        batch = read_rows(paths, classes, windows=windows)
    if not len(batch):
        end(batch.failures)
    return replace(batch, files=[printable(file) for file in batch.files])


def warn_of_labels(classes: Classes) -> None:
    """Note what looks wrong with a list of labels; an adapter's were looked at when it was made."""
    from prism_audio.labelling.word_list import label_warnings

    if classes.adapter is None:
        words = classes.vocabulary
        language = getattr(classes.encoder, "language", "en")
        for text in label_warnings(words.labels, words.background, language):
            note(f"note: {printable(text)}")


def gather_chunks(
    paths: Sequence[Path], rows: int | None, on_ray: bool, address: str | None
) -> Chunked:
    """The rows of a store or a file of arrays as a source that is read in chunks."""
    from prism_audio.labelling.batch import kind_of
    from prism_audio.out_of_core.chunks import CHUNK_ROWS, open_chunks
    from prism_audio.out_of_core.ray_chunks import TASK_ROWS, open_ray_chunks
    from prism_audio.store.rows import open_table
    from prism_audio.store.store import read_settings

    kind = kind_of(paths)
    if kind == "audio":
        raise InputError(
            f"{paths[0]} holds recordings; embed them first ('prism embed {paths[0]} -o store'), "
            "then calibrate on the store in chunks"
        )
    table = open_table(paths[0])
    source = (
        open_ray_chunks(table, rows or TASK_ROWS, address)
        if on_ray
        else open_chunks(table, rows or CHUNK_ROWS)
    )
    if kind != "store":
        return Chunked(source)
    about = read_settings(paths[0])
    return Chunked(source, about.encoder, about.fingerprint)


def place_of(paths: Sequence[Path], given: str | None) -> str:
    """A name for the place: the one given, or that of the folder or file."""
    return given if given is not None else printable(Path(paths[0]).resolve().name)

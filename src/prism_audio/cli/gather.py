"""From what a user typed to a batch and the classes: the part that several commands share.

Everything that can be wrong without hearing a recording is found out before the first is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prism_audio.errors import AdapterError, InputError

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder
    from prism_audio.labelling.batch import Batch
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.vocabulary import Vocabulary
    from prism_audio.out_of_core.chunks import Chunks


@dataclass(frozen=True, eq=False)
class LabelOptions:
    """What is to be told apart: the classes, the adapter if one was given, the encoder if needed."""

    vocabulary: Vocabulary
    adapter: Adapter | None
    encoder: Encoder | None


@dataclass(frozen=True, eq=False)
class Chunked:
    """Rows that are read in chunks, and what embedded them, where that is known."""

    source: Chunks
    encoder: str = ""
    fingerprint: str = ""


def gather_words(
    paths: Sequence[Path] | None,
    *,
    labels: str | None = None,
    prototypes: Path | None = None,
    adapter: Path | None = None,
    encoder: str | None = None,
    prompts: str = "paper",
) -> LabelOptions:
    """The classes, from an adapter, from a file of prototypes, or from labels and an encoder.

    ``paths`` are what is to be labelled (None: a stream): recordings need the encoder in any case,
    a store names its own. The rest is as on the command line.
    """
    from prism_audio.encoders.prompts import PromptSet, read_labels
    from prism_audio.encoders.registry import DEFAULT, load_encoder
    from prism_audio.labelling.batch import kind_of
    from prism_audio.model.vocabulary import Vocabulary
    from prism_audio.store.store import read_settings

    kind = "audio" if paths is None else kind_of(paths)
    if (labels is None and prototypes is None) == (adapter is None):
        raise InputError(
            'say what to listen for: either --labels "dog bark, siren" or a saved --adapter, '
            f"{'one of them is needed' if adapter is None else 'not both'}"
        )
    if adapter is not None:
        return _saved(adapter, encoder, sound=kind == "audio")
    names = read_labels(labels) if labels is not None else []
    store = read_settings(Path(paths[0])) if paths and kind == "store" else None
    name = encoder or (store.encoder if store else DEFAULT)
    if prototypes is not None:
        tower = load_encoder(name) if kind == "audio" else None
        return LabelOptions(Vocabulary.from_file(prototypes, names), None, tower)
    prompt_set = PromptSet.load(prompts)
    tower = load_encoder(name)
    return LabelOptions(Vocabulary.from_text(tower, names, prompt_set), None, tower)


def _saved(path: Path, encoder: str | None, *, sound: bool) -> LabelOptions:
    from prism_audio.encoders.registry import load_encoder
    from prism_audio.labelling.calibration import refuse_other_encoder
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.vocabulary import Vocabulary

    adapter = Adapter.load(path)
    if not sound:
        return LabelOptions(Vocabulary.of(adapter), adapter, None)
    name = encoder or adapter.encoder
    if not name:
        raise AdapterError(f"{path} does not say which encoder it is for; say it with --encoder")
    tower = load_encoder(name)
    refuse_other_encoder(adapter, tower.fingerprint, tower.id, str(path))
    return LabelOptions(Vocabulary.of(adapter), adapter, tower)


def gather_batch(paths: Sequence[Path], words: LabelOptions, *, windows: bool = False) -> Batch:
    """The embeddings; recordings are embedded under a progress bar on standard error.

    Ends the command, with the reasons, where not one recording could be read.
    """
    from prism_audio.cli.console import ProgressBar, end, printable
    from prism_audio.labelling.batch import embed_batch, kind_of, read_batch
    from prism_audio.labelling.calibration import refuse_other_encoder

    if kind_of(paths) == "audio":
        assert words.encoder is not None
        with ProgressBar("looking", "embedding") as bar:
            batch = embed_batch(paths, words.encoder, per_window=windows, progress=bar)
        if not len(batch):
            end(batch.failures)
    else:
        batch = read_batch(paths[0])
        if windows and batch.row != "window":
            raise InputError(
                f"{paths[0]} has no rows of windows; make them with 'prism embed --windows'"
            )
        refuse_other_encoder(words.vocabulary, batch.fingerprint, batch.encoder)
    return replace(batch, files=[printable(file) for file in batch.files])


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
    from prism_audio.cli.console import printable

    return given if given is not None else printable(Path(paths[0]).resolve().name)

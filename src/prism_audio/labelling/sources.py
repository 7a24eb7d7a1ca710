"""From what a user names to classes and rows: labels or an adapter, an encoder, recordings.

Everything that can be wrong without hearing a recording is found out before the first is opened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import DEFAULT, load_encoder
from prism_audio.errors import AdapterError, InputError
from prism_audio.labelling.batch import AnyPath, Batch, embed_batch, kind_of, read_batch
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.store.store import read_settings

if TYPE_CHECKING:
    from prism_audio.encoders.embedding.engine import Progress

AnyEncoder = str | Encoder
Paths = AnyPath | Sequence[AnyPath]


@dataclass(frozen=True, eq=False)
class Classes:
    """What is to be told apart: the classes, the adapter if there is one, the encoder if needed."""

    vocabulary: Vocabulary
    adapter: Adapter | None = None
    encoder: Encoder | None = None


def find_classes(
    paths: Sequence[AnyPath] | None,
    *,
    labels: str | Sequence[str] | None = None,
    background: str | Sequence[str] | None = None,
    prototypes: AnyPath | None = None,
    adapter: Adapter | AnyPath | None = None,
    encoder: AnyEncoder | None = None,
    prompts: AnyPath = "sentences",
) -> Classes:
    """The classes, from an adapter, from a file of prototypes, or from labels and an encoder.

    Parameters
    ----------
    paths : sequence of paths, optional
        What is to be labelled; None for a stream. Recordings need the encoder in any case, a store
        names its own.
    labels : str or sequence of str, optional
        See :func:`~prism_audio.encoders.prompts.read_labels`.
    background : str or sequence of str, optional
        Words for what is always there; they compete with the labels and are not reported.
    prototypes : path, optional
        A file of text vectors.
    adapter : Adapter or path, optional
        A calibrated place, instead of labels and prototypes.
    encoder : str or Encoder, optional
        What embeds; by default the one of the adapter or the store, else ``concepts``.
    prompts : str or path
        Sentences that labels are put into.
    """
    kind = "audio" if paths is None else kind_of(paths)
    if (labels is None and prototypes is None) == (adapter is None):
        raise InputError(
            'say what to listen for: either --labels "dog bark, siren" or a saved --adapter, '
            f"{'one of them is needed' if adapter is None else 'not both'}"
        )
    if background is not None and (adapter is not None or prototypes is not None):
        raise InputError("--background goes with --labels; an adapter has its own background words")
    if adapter is not None:
        return _calibrated(adapter, encoder, sound=kind == "audio")
    names = read_labels(labels) if labels is not None else []
    store = read_settings(Path(paths[0])) if paths and kind == "store" else None
    chosen = encoder or (store.encoder if store else DEFAULT)
    if prototypes is not None:
        tower = as_encoder(chosen) if kind == "audio" else None
        return Classes(Vocabulary.from_file(prototypes, names), encoder=tower)
    prompt_set = PromptSet.load(prompts)
    tower = as_encoder(chosen)
    others = read_labels(background) if background is not None else []
    return Classes(Vocabulary.from_text(tower, names, prompt_set, others), encoder=tower)


def _calibrated(adapter: Adapter | AnyPath, encoder: AnyEncoder | None, *, sound: bool) -> Classes:
    what = "the adapter" if isinstance(adapter, Adapter) else str(adapter)
    loaded = adapter if isinstance(adapter, Adapter) else Adapter.load(adapter)
    if not sound:
        return Classes(Vocabulary.of(loaded), loaded)
    if not (encoder or loaded.encoder):
        raise AdapterError(f"{what} does not say which encoder it is for; say it with --encoder")
    tower = as_encoder(encoder or loaded.encoder)
    refuse_other_encoder(loaded, tower.fingerprint, tower.id, what)
    return Classes(Vocabulary.of(loaded), loaded, tower)


def read_rows(
    paths: Sequence[AnyPath],
    classes: Classes,
    *,
    windows: bool = False,
    progress: Progress | None = None,
) -> Batch:
    """The rows to label: recordings are embedded; a store or a file of arrays is read as it is.

    With ``windows`` every window of a recording is a row. What cannot be read is in ``failures`` of
    the result, which may have no rows at all.
    """
    if kind_of(paths) == "audio":
        assert classes.encoder is not None
        return embed_batch(paths, classes.encoder, per_window=windows, progress=progress)
    batch = read_batch(paths[0])
    if windows and batch.row != "window":
        raise InputError(
            f"{paths[0]} has no rows of windows; make them with 'prism embed --windows'"
        )
    refuse_other_encoder(classes.vocabulary, batch.fingerprint, batch.encoder)
    return batch


def as_paths(paths: Paths) -> list[AnyPath]:
    """One path or several, as a list."""
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def as_encoder(encoder: AnyEncoder) -> Encoder:
    """An encoder, or the one of that name, which is kept for the next call."""
    return _loaded(encoder) if isinstance(encoder, str) else encoder


@lru_cache(maxsize=2)
def _loaded(name: str) -> Encoder:
    return load_encoder(name)

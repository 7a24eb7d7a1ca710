"""From sound to answers in four lines of Python.

>>> import prism_audio as prism
>>> site = prism.calibrate("recordings/", labels=["dog bark", "siren"])    # doctest: +SKIP
>>> table = prism.classify("new/", site)                                   # doctest: +SKIP
>>> for event in prism.listen("long.wav", site): print(event.label)        # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from prism_audio.audio.capture import sound_blocks
from prism_audio.errors import AudioError
from prism_audio.io.text import counted
from prism_audio.io.types import Float32
from prism_audio.labelling.batch import AnyPath, Batch
from prism_audio.labelling.calibration import calibrate_place, estimator, read_labelled
from prism_audio.labelling.classify import classify as label_rows
from prism_audio.labelling.events import Event
from prism_audio.labelling.listener import Listener, Pace
from prism_audio.labelling.sheet import classes_of_rows
from prism_audio.labelling.sources import (
    AnyEncoder,
    Paths,
    as_paths,
    find_classes,
    read_rows,
)
from prism_audio.labelling.table import Table
from prism_audio.model.adapter import Adapter


def calibrate(
    paths: Paths,
    labels: str | Sequence[str],
    *,
    background: str | Sequence[str] | None = None,
    encoder: AnyEncoder = "concepts",
    prompts: AnyPath = "sentences",
    preset: str = "default",
    place: str | None = None,
    windows: bool = False,
    labelled: AnyPath | None = None,
) -> Adapter:
    """Calibrate a place from unlabelled recordings of it.

    Parameters
    ----------
    paths : path or sequence of paths
        Recordings or folders of them; or a store of ``prism embed``, or a file of embeddings.
    labels : sequence of str, or str
        What to listen for; as text: a comma list, or a file with a label a line.
    background : sequence of str, or str, optional
        Words for what is always there, such as wind or traffic: they compete with the labels and
        are answered ``background``.
    encoder : str or Encoder
        What embeds sound and text; see :func:`prism_audio.encoders.load_encoder`.
    prompts : str or path
        Sentences that labels are put into: ``paper``, ``plain`` or a file.
    preset : {"default", "paper", "released"}
        The method's parameters.
    place : str, optional
        A name for the adapter's card; that of the folder by default.
    windows : bool
        Calibrate on windows instead of whole recordings: for streams.
    labelled : path, optional
        A sheet of clips that a person has labelled (:mod:`prism_audio.labelling.sheet`).

    Returns
    -------
    Adapter
        For :func:`classify`, :func:`listen`, or ``save("site.safetensors")``.
    """
    estimator(preset)
    sources = as_paths(paths)
    classes = find_classes(
        sources, labels=labels, background=background, encoder=encoder, prompts=prompts
    )
    words = classes.vocabulary
    sheet = read_labelled(labelled, words, preset)
    batch = _heard(read_rows(sources, classes, windows=windows))
    if place is None:
        place = Path(sources[0]).resolve().name
    y = classes_of_rows(sheet, words.labels, batch.files, batch.start, batch.end)
    return calibrate_place(batch, words, place=place, preset=preset, y=y)


def classify(
    paths: Paths,
    site: Adapter | AnyPath,
    *,
    encoder: AnyEncoder | None = None,
    threshold: float | None = None,
    top: int = 0,
    windows: bool = False,
) -> Table:
    """Label recordings by a calibrated place.

    Parameters
    ----------
    paths : path or sequence of paths
        As for :func:`calibrate`.
    site : Adapter or path
        What :func:`calibrate` gave, or a file of it.
    encoder : str or Encoder, optional
        By default the one that the adapter names.
    threshold : float, optional
        The least cosine that convinces; by default the adapter's own.
    top : int
        Columns for so many of the best classes.
    windows : bool
        A row for every window instead of one for every recording.

    Returns
    -------
    Table
        A row for each recording; what could not be read is in ``failures``.
    """
    sources = as_paths(paths)
    classes = find_classes(sources, adapter=site, encoder=encoder)
    batch = _heard(read_rows(sources, classes, windows=windows))
    assert classes.adapter is not None
    rows = label_rows(batch, classes.adapter, threshold=threshold, top=top)
    return Table(rows, batch.failures, top)


def listen(
    source: AnyPath | BinaryIO | Iterable[Float32],
    site: Adapter | AnyPath,
    *,
    encoder: AnyEncoder | None = None,
    window: float | None = None,
    hop: float | None = None,
    confirm: int = 2,
    threshold: float | None = None,
    rate: int | None = None,
) -> Iterator[Event]:
    """Events of a recording or a stream, each when it is over.

    Parameters
    ----------
    source : path, ``"mic"``, binary file or iterable of arrays
        A recording; the microphone; raw 16-bit mono samples of ``rate`` Hz; or mono float32 blocks
        at the encoder's rate.
    site : Adapter or path
        What :func:`calibrate` gave, or a file of it.
    encoder : str or Encoder, optional
        By default the one that the adapter names.
    window, hop : float, optional
        Seconds of sound behind an answer, and from one to the next.
    confirm : int
        Answers in a row that must agree before a change counts.
    threshold : float, optional
        The least cosine that convinces; by default the adapter's own.
    rate : int, optional
        Of raw samples.
    """
    classes = find_classes(None, adapter=site, encoder=encoder)
    tower, adapter = classes.encoder, classes.adapter
    assert tower is not None
    assert adapter is not None
    pace = Pace.for_adapter(tower, adapter, window, hop, confirm)
    listener = Listener(tower, adapter, pace, threshold=threshold)
    for notice in listener.hear(sound_blocks(source, tower.rate, rate=rate)):
        if isinstance(notice, tuple) and notice[0] == "end":
            yield notice[1]


def _heard(batch: Batch) -> Batch:
    """The batch, if it has a row; a warning for what could not be read."""
    if batch.failures:
        file, reason = batch.failures[0]
        count = counted(len(batch.failures), "recording")
        message = f"{count} could not be read; the first: {file}: {reason}"
        if not len(batch):
            raise AudioError(message)
        warnings.warn(message, stacklevel=3)
    return batch

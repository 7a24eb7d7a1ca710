"""What PRISM asks of an encoder: sound and text into one space, the same bytes at every call.

An encoder sees fixed windows of sound and gives each a row of *features*; it says itself how the
features of one recording become one unit vector (``pool``), because that differs between towers:
CLAP averages window embeddings, a tagger averages class scores before it takes their logarithm.
Everything else (decoding, windows, batching) is done once, in :mod:`prism_audio.audio`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError, PrismError
from prism_audio.io.types import Float32

if TYPE_CHECKING:
    from prism_audio.audio.decode import AudioSource
    from prism_audio.audio.windows import Window

# A file, or an array with its rate in Hz.
Sound: TypeAlias = "AudioSource | tuple[Any, int]"

ENTRY_POINTS = "prism_audio.encoders"
DEFAULT = "concepts"
# Bounds the memory that a long recording takes.
_BATCH = 64


@runtime_checkable
class Encoder(Protocol):
    """The protocol. Deterministic, and no member of a batch may influence another.

    ``embed_windows`` and ``embed_text`` may be called from several threads at once. An encoder that
    was trained on short sounds filled up otherwise than with zeros may have a further method
    ``pad(sound) -> window``, which is then used for the last window of a recording.

    Attributes
    ----------
    id : str
        The name a user types after ``--encoder``.
    fingerprint : str
        A hash of all that changes an embedding: weights, pre-processing, versions of both.
    dim : int
        Width d of the joint space.
    rate : int
        Sampling rate in Hz of the windows it wants.
    window, hop : float
        Seconds of sound in a window, and seconds from one window's start to the next one's.
    """

    id: str
    fingerprint: str
    dim: int
    rate: int
    window: float
    hop: float

    def embed_windows(self, windows: Float32) -> Float32:
        """Features (B, f) of windows (B, round(window * rate)), mono float32 in [-1, 1]."""
        ...

    def pool(self, features: Float32, weights: Float32) -> Float32:
        """One unit vector (d,) for features (B, f); a weight is the seconds of real sound seen.

        It depends on the features through their weighted mean alone, so that a recording of any
        length can be added up while it is read.
        """
        ...

    def embed_text(self, texts: Sequence[str]) -> Float32:
        """Unit rows (len(texts), d) in the order of ``texts``."""
        ...


class Timeline(NamedTuple):
    """A recording window by window: when each starts and ends in seconds, and its unit vector."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    embeddings: Float32


def load_encoder(name: str | os.PathLike[str] = DEFAULT, **options: Any) -> Encoder:
    """Make the encoder of that name.

    Parameters
    ----------
    name : str or path
        The name of a registered encoder (any installed package can register one as an entry point
        of the group ``prism_audio.encoders``); ``NAME:SOURCE`` for one that takes a source, as in
        ``onnx:Xenova/clap-htsat-unfused``; or a CLAP model: a hub id such as
        ``laion/clap-htsat-fused``, a folder, or LAION's ``.pt`` file.
    **options
        Handed to the encoder.

    Raises
    ------
    InputError
        When no encoder has that name; the message lists those there are.
    """
    from importlib.metadata import entry_points

    known = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    text = os.fspath(name)
    is_path = not isinstance(name, str) or "/" in text or os.sep in text or os.path.exists(text)
    prefix, _, source = text.partition(":")
    if text in known:
        chosen = text
    elif source and prefix in known:
        chosen, options = prefix, {"source": source, **options}
    elif is_path and "clap" in known:
        chosen, options = "clap", {"source": text, **options}
    else:
        raise InputError(
            f"there is no encoder {text!r}. Known are {', '.join(sorted(known)) or 'none'}; a CLAP "
            "model is named by its hub id (laion/clap-htsat-fused), its folder or its .pt file."
        )
    try:
        make = known[chosen].load()
    except (ImportError, AttributeError) as error:
        raise PrismError(
            f"the encoder {chosen!r} ({known[chosen].value}) cannot be imported: {error}. "
            "Install what it needs, or another version of the package that offers it."
        ) from error
    encoder = make(**options)
    if not isinstance(encoder, Encoder):
        raise PrismError(
            f"{known[chosen].value} made a {type(encoder).__name__}, which lacks a part of the "
            "protocol in prism_audio.encoders.base.Encoder."
        )
    return encoder


def encoder_windows(encoder: Encoder, sound: Sound) -> Iterator[Window]:
    """The windows of a recording as this encoder wants them: its rate, length, hop and padding."""
    from prism_audio.audio.decode import from_array, stream
    from prism_audio.audio.windows import windows

    if isinstance(sound, tuple):
        if len(sound) != 2:
            raise InputError(f"a pair (samples, rate in Hz) was wanted, not {len(sound)} things")
        blocks: Iterator[Float32] = iter([from_array(*sound, encoder.rate)])
    else:
        blocks = stream(sound, encoder.rate)
    pad = getattr(encoder, "pad", None)
    full = round(encoder.window * encoder.rate)
    for window in windows(blocks, encoder.rate, encoder.window, encoder.hop):
        filled = round(window.weight * encoder.rate)
        if pad is not None and filled < full:
            window = window._replace(samples=pad(window.samples[:filled]))
        yield window


def embed_audio(
    encoder: Encoder, sounds: Sequence[Sound], *, workers: int | None = None
) -> Float32:
    """Unit rows (N, d), one a recording, in the order of ``sounds``.

    A recording's row depends on nothing but the recording. Memory does not grow with its length.

    Parameters
    ----------
    encoder : Encoder
        From :func:`load_encoder`.
    sounds : sequence of paths, open files, or pairs (samples, rate in Hz)
        The recordings.
    workers : int, optional
        Recordings read at the same time; by default one for each core, and one more.

    Raises
    ------
    AudioError, InputError
        At the first recording that cannot be used.
    """
    if isinstance(sounds, str | os.PathLike) or not isinstance(sounds, Sequence):
        raise InputError(f"a list of recordings was wanted, not a {type(sounds).__name__}")
    threads = ThreadPoolExecutor(workers or usable_cores() + 1)
    try:
        rows = list(threads.map(lambda sound: _embed_one(encoder, sound), sounds))
    finally:
        threads.shutdown(cancel_futures=True)
    return np.stack(rows) if rows else np.empty((0, encoder.dim), np.float32)


def embed_timeline(encoder: Encoder, sound: Sound) -> Timeline:
    """A recording's windows, each embedded by itself."""
    spans, rows = [], []
    for batch in _batches(encoder_windows(encoder, sound)):
        features = encoder.embed_windows(np.stack([window.samples for window in batch]))
        for window, row in zip(batch, features, strict=True):
            spans.append((window.start, window.end))
            rows.append(encoder.pool(row[None], np.array([window.weight], np.float32)))
    start, end = np.array(spans).T
    return Timeline(start, end, np.stack(rows))


def usable_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _embed_one(encoder: Encoder, sound: Sound) -> Float32:
    total, seconds = np.zeros(1), 0.0
    for batch in _batches(encoder_windows(encoder, sound)):
        features = encoder.embed_windows(np.stack([window.samples for window in batch]))
        weights = np.array([window.weight for window in batch])
        total = total + weights @ features.astype(np.float64)
        seconds += weights.sum()
    mean = (total / seconds).astype(np.float32)
    return encoder.pool(mean[None], np.array([seconds], np.float32))


def _batches(windows: Iterator[Window]) -> Iterator[list[Window]]:
    while batch := list(islice(windows, _BATCH)):
        yield batch

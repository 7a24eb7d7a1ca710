"""Embed recordings one by one: files, open files or arrays, as a whole or window by window."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.decode import AudioSource
from prism_audio.audio.windows import encoder_windows
from prism_audio.encoders.embedding.clips import Clip, Failure, OpenClip, embed_into
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError, PrismError
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32


class Timeline(NamedTuple):
    """A recording window by window: when each starts and ends in seconds, and its unit vector."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    embeddings: Float32


def embed_audio(
    encoder: Encoder, recordings: Sequence[AudioSource], *, workers: int | None = None
) -> Float32:
    """Unit rows (N, d), one per recording, in the order of ``recordings``.

    A recording's row depends on nothing but the recording. Memory does not grow with its length.

    Parameters
    ----------
    encoder : Encoder
        From :func:`~prism_audio.encoders.registry.load_encoder`.
    recordings : sequence of paths, open files, or pairs (samples, rate in Hz)
        What to embed.
    workers : int, optional
        Recordings read at the same time; by default one for each core, and one more.

    Raises
    ------
    AudioError, InputError
        At the first recording that cannot be used.
    """
    if isinstance(recordings, str | os.PathLike) or not isinstance(recordings, Sequence):
        raise InputError(f"a list of recordings was wanted, not a {type(recordings).__name__}")
    threads = ThreadPoolExecutor(workers or usable_cores() + 1)
    try:
        clips = list(threads.map(lambda source: _embed(encoder, source, False), recordings))
    finally:
        threads.shutdown(cancel_futures=True)
    rows = [clip.embedding for clip in clips]
    return np.stack(rows) if rows else np.empty((0, encoder.dim), np.float32)


def embed_timeline(encoder: Encoder, recording: AudioSource) -> Timeline:
    """A recording's windows, each embedded by itself."""
    clip = _embed(encoder, recording, True)
    return Timeline(clip.start, clip.end, clip.rows(encoder))


def _embed(encoder: Encoder, source: AudioSource, per_window: bool) -> Clip:
    clip = OpenClip(Path("<recording>"), 0, per_window)
    embed_into([clip], encoder, encoder_windows(encoder, source))
    result = clip.close(encoder)
    if isinstance(result, Failure):
        raise PrismError(result.reason)
    return result

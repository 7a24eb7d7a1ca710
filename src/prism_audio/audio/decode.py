"""Decode audio: from a file or an array to mono float32 samples at the rate an encoder wants.

Files are read in blocks, so memory does not grow with their length; :func:`decode` is for those
who want all samples at once. Whatever cannot be decoded is refused with an
:class:`~prism_audio.errors.AudioError` that names the file, the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import numpy as np

from prism_audio.audio.arrays import from_array
from prism_audio.audio.gate import HIGHEST_RATE, LOWEST_RATE, check_rate, mono_blocks
from prism_audio.audio.readers import open_reader
from prism_audio.audio.source import AudioFile, AudioSource, OpenRecording, Reader, opened
from prism_audio.errors import InputError
from prism_audio.io.types import Float32

__all__ = ["SUFFIXES", "AudioInfo", "AudioSource", "decode", "from_array", "probe", "stream"]

# The last two rows need the optional decoder. Without it such files are refused with the way to get
# it, which is better than passing them over.
SUFFIXES = frozenset(
    (
        *(".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3"),
        *(".aiff", ".aif", ".aifc", ".au", ".caf", ".w64"),
        *(".m4a", ".aac", ".wma", ".amr"),
        *(".mp4", ".mov", ".mkv", ".webm", ".avi", ".3gp"),
    )
)

# Samples in one read, over all channels, and in one block that comes out of it.
_BLOCK = 1 << 20
_REPAIR = (
    "Export it again; or read it yourself, repair it (numpy.nan_to_num, a division by full scale) "
    "and give the array with its rate."
)


class AudioInfo(NamedTuple):
    """What the header of a recording says: seconds, Hz, channels, and the kind of file."""

    duration: float
    rate: int
    channels: int
    format: str


def stream(source: AudioSource, rate: int, *, block_seconds: float = 10.0) -> Iterator[Float32]:
    """Samples of a recording in order, as mono float32 blocks at ``rate``.

    Channels are averaged and the rate is changed by soxr (HQ). The samples do not depend on the
    size of the blocks. A silent or clipped recording is decoded as it is.

    Parameters
    ----------
    source : path, binary file, or pair (samples, rate in Hz)
        An open file must be able to seek; its ``name``, if it has one, stands in messages. Samples
        are taken as by :func:`from_array`.
    rate : int
        The rate wanted, in Hz.
    block_seconds : float
        The longest block, in seconds; files of many channels or a high rate give shorter ones.

    Yields
    ------
    (n,) float32 with n > 0; at least one block.

    Raises
    ------
    AudioError
        When the first block is asked for, or later if the damage lies further on.
    """
    rate = check_rate(rate, "The sampling rate wanted")
    if not block_seconds > 0:
        raise InputError(f"block_seconds is {block_seconds!r}; give a positive number of seconds.")
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError(f"a pair (samples, rate in Hz) was wanted, not {len(source)} things")
        yield from_array(*source, rate)
        return
    with _readable(source) as (file, reader):
        size = min(
            block_seconds * reader.rate, _BLOCK / reader.channels, _BLOCK * reader.rate / rate
        )
        empty = True
        for block in mono_blocks(
            reader.blocks(max(1, int(size))),
            reader.rate,
            rate,
            lambda reason: file.refused(reason, _REPAIR),
        ):
            empty = False
            yield block
        if empty:
            raise file.refused("it holds no sound (0 samples)", "Record or export it again.")


def decode(source: AudioSource, rate: int) -> Float32:
    """All samples of a recording, mono float32 at ``rate``; see :func:`stream`."""
    return np.concatenate(list(stream(source, rate)))


def probe(source: AudioFile) -> AudioInfo:
    """What a recording's header says, without decoding it (unless it does not say its length)."""
    with _readable(source) as (_, reader):
        frames = reader.frames
        if frames is None:
            frames = sum(len(block) for block in reader.blocks(max(1, _BLOCK // reader.channels)))
        return AudioInfo(frames / reader.rate, reader.rate, reader.channels, reader.format)


@contextmanager
def _readable(source: AudioFile | OpenRecording) -> Iterator[tuple[OpenRecording, Reader]]:
    opening = nullcontext(source) if isinstance(source, OpenRecording) else opened(source)
    with opening as file, open_reader(file) as reader:
        if not LOWEST_RATE <= reader.rate <= HIGHEST_RATE or reader.channels < 1:
            raise file.refused(
                f"its header says {reader.rate} Hz and {reader.channels} channels, "
                f"and sound has {LOWEST_RATE} to {HIGHEST_RATE} Hz",
                "The header is damaged, or this is no sound; export it again.",
            )
        yield file, reader

"""Equal windows of sound, cut at fixed times whatever the blocks they come in.

Window k begins at sample k * hop. There is one for every k that adds sound no earlier window had:
a recording shorter than a window gives one, padded with zeros at its end; a tail that the last full
window already covers gives none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from prism_audio.audio.decode import AudioSource, stream
from prism_audio.audio.gate import check_rate, in_samples
from prism_audio.io.types import Float32


class Window(NamedTuple):
    """A stretch of sound for an encoder."""

    # Where it lies in the recording, in seconds; ``end`` is where its real sound ends.
    start: float
    end: float
    # (n,): n is the same for all windows; after the end of the recording they are zero.
    samples: Float32
    # Seconds of real sound in it, ``end - start``: its weight when windows are pooled.
    weight: float


class WindowShape(Protocol):
    """The windows that an encoder wants: rate in Hz, length and hop in seconds.

    Its method ``pad(sound) -> window``, if it has one, fills a window that the sound does not; by
    default zeros do.
    """

    rate: int
    window: float
    hop: float


def encoder_windows(shape: WindowShape, source: AudioSource) -> Iterator[Window]:
    """The windows of a recording: a path, an open file, or a pair (samples, rate in Hz)."""
    return stream_windows(shape, stream(source, shape.rate), shape.hop)


def stream_windows(shape: WindowShape, blocks: Iterable[Float32], hop: float) -> Iterator[Window]:
    """The windows of mono blocks at the encoder's rate, one every ``hop`` seconds."""
    cut = windows(blocks, shape.rate, shape.window, hop)
    if not hasattr(shape, "pad"):
        return cut
    return (w._replace(samples=padded(shape, w.samples, w.weight)) for w in cut)


def padded(shape: WindowShape, samples: Float32, seconds: float) -> Float32:
    """A window of which ``seconds`` are sound and the rest zeros, padded as the encoder wants it."""
    pad = getattr(shape, "pad", None)
    filled = round(seconds * shape.rate)
    return samples if pad is None or filled >= len(samples) else pad(samples[:filled])


def windows(blocks: Iterable[Float32], rate: int, window: float, hop: float) -> Iterator[Window]:
    """Cut a recording into windows while it is read: one every ``hop`` seconds.

    Memory is one window and one block, however long the recording. Both lengths are rounded to whole
    samples. A hop longer than the window leaves sound out.
    """
    rate = check_rate(rate, "The sampling rate")
    size, step = in_samples(window, rate, "window"), in_samples(hop, rate, "hop")
    buffer = np.zeros(size, np.float32)
    filled = fresh = start = to_skip = 0
    for block in blocks:
        position = 0
        while position < len(block):
            if to_skip:
                skipped = min(to_skip, len(block) - position)
                to_skip -= skipped
                position += skipped
                continue
            taken = min(size - filled, len(block) - position)
            buffer[filled : filled + taken] = block[position : position + taken]
            position += taken
            filled += taken
            fresh += taken
            if filled == size:
                yield _window(buffer, start, size, rate)
                keep = max(0, size - step)
                buffer[:keep] = buffer[size - keep :]
                filled, fresh, to_skip = keep, 0, max(0, step - size)
                start += step
    if fresh:
        buffer[filled:] = 0.0
        yield _window(buffer, start, filled, rate)


def _window(buffer: Float32, start: int, filled: int, rate: int) -> Window:
    return Window(start / rate, (start + filled) / rate, buffer.copy(), filled / rate)

"""The gate that all audio passes, from a file, an array or a stream: checks, one channel, one rate."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from prism_audio.errors import InputError, PrismError
from prism_audio.io.types import Float32

# No recorder works below or above. Such rates come from broken headers, and a rate of 1 Hz would
# make a small file 48,000 times as long.
LOWEST_RATE, HIGHEST_RATE = 1_000, 10_000_000
# Full scale is 1. Honest peaks overshoot a little; integers kept as floats overshoot by thousands.
LOUDEST = 64.0


def mono_blocks(
    blocks: Iterable[NDArray[np.floating]],
    rate: int,
    to_rate: int,
    refusal: Callable[[str], PrismError],
) -> Iterator[Float32]:
    """Samples (n, channels) with full scale 1, as checked mono float32 blocks at ``to_rate``.

    ``refusal`` makes the error that is raised from what is wrong with a sample.
    """
    return resampled(_checked(blocks, rate, refusal), rate, to_rate)


def _checked(
    blocks: Iterable[NDArray[np.floating]], rate: int, refusal: Callable[[str], PrismError]
) -> Iterator[Float32]:
    done = 0
    for block in blocks:
        if reason := fault(block, rate, done):
            raise refusal(reason)
        done += len(block)
        if len(block):
            yield to_mono(block)


def check_rate(rate: Any, what: str) -> int:
    """Return ``rate`` as an int, or say what is wrong with it."""
    whole = isinstance(rate, numbers.Real) and float(rate).is_integer()
    if not whole or isinstance(rate, bool):
        raise InputError(f"{what} is {rate!r}; give a whole number of Hz, for example 16000.")
    hertz = int(float(rate))
    if not LOWEST_RATE <= hertz <= HIGHEST_RATE:
        raise InputError(f"{what} is {hertz} Hz; give one from {LOWEST_RATE} to {HIGHEST_RATE} Hz.")
    return hertz


def in_samples(seconds: float, rate: int, what: str) -> int:
    """Return a length in whole samples, at least one."""
    samples = round(seconds * rate) if np.isfinite(seconds) else 0
    if samples < 1:
        raise InputError(f"{what} is {seconds!r} s; give at least one sample (1/{rate} s).")
    return samples


def fault(samples: NDArray[np.floating], rate: int, first: int = 0) -> str | None:
    """Say what makes samples (n, channels) unusable and where; None if nothing does.

    ``first`` is the position of ``samples[0]`` in the recording.
    """
    # Both comparisons are false for NaN, too.
    if samples.size == 0 or (samples.max() <= LOUDEST and samples.min() >= -LOUDEST):
        return None
    row, channel = np.argwhere(~(np.abs(samples) <= LOUDEST))[0]
    value = samples[row, channel]
    where = f"at sample {first + row} ({(first + row) / rate:.3f} s)"
    if np.isfinite(value):
        return f"{where} it reads {value:g} where full scale is 1"
    return f"{where} it reads {value}, which is no number"


def to_mono(samples: NDArray[np.floating]) -> Float32:
    """Mean over the channels of samples (n, channels), as (n,) float32."""
    if samples.shape[1] == 1:
        return np.ascontiguousarray(samples[:, 0], dtype=np.float32)
    return np.asarray(np.einsum("nc->n", samples) / samples.shape[1], dtype=np.float32)


def resampled(blocks: Iterable[Float32], from_rate: int, to_rate: int) -> Iterator[Float32]:
    """Mono blocks at another rate; the samples do not depend on how the sound was cut in blocks.

    Sound too short to reach one sample at the new rate still gives one: a clip is never lost.
    """
    if from_rate == to_rate:
        yield from blocks
        return
    resampler = soxr.ResampleStream(from_rate, to_rate, 1, dtype="float32", quality="HQ")
    last, given = np.zeros(0, np.float32), False
    for block in blocks:
        out = resampler.resample_chunk(block)
        last = block[-1:] if block.size else last
        if out.size:
            given = True
            yield out
    tail = resampler.resample_chunk(np.zeros(0, np.float32), last=True)
    if tail.size:
        yield tail
    elif last.size and not given:
        yield last

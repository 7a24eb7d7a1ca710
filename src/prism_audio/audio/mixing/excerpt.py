"""A stretch of background of any length, from a recording that may be shorter than it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_audio.io.types import Float64

_CROSSFADE = 0.1  # seconds in which the end of a short recording gives way to its beginning


def excerpt(samples: NDArray[np.floating], rate: int, length: int, u: float) -> tuple[Float64, int]:
    """``length`` samples of a recording (n,) and the sample at which they begin.

    A shorter recording is looped: its end is crossfaded with its beginning over 0.1 s at equal power,
    which keeps the level of noise where the two meet. With ``u`` a uniform draw in [0, 1), all
    possible beginnings are picked alike.
    """
    if len(samples) >= length:
        start = int(u * (len(samples) - length + 1))
        return samples[start : start + length].astype(np.float64), start
    overlap = min(round(_CROSSFADE * rate), len(samples) // 2)
    loop = _loop(samples.astype(np.float64), overlap)
    start = int(u * len(loop))
    return loop[(start + np.arange(length)) % len(loop)], start


def _loop(source: Float64, overlap: int) -> Float64:
    """A recording whose end leads into its beginning; shorter than the recording by the overlap."""
    if overlap == 0:
        return source
    angle = np.pi / 2 * (np.arange(overlap) + 0.5) / overlap
    loop = source[:-overlap].copy()
    loop[:overlap] = np.sin(angle) * loop[:overlap] + np.cos(angle) * source[-overlap:]
    return loop

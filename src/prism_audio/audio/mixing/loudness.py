r"""Level of a mono sound, in decibels below full scale: by power (RMS) or as heard (LUFS).

    RMS   L = 10 log10 mean(x^2)                                   a full-scale square wave reads 0
    LUFS  L = -0.691 + 10 log10 mean over gated blocks of mean(y^2)       y = x through the K-filter

LUFS follows ITU-R BS.1770: blocks of 400 ms every 100 ms, without those below -70 LUFS, and then
without those more than 10 LU below the mean of the rest. Silence is minus infinity in both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import lfilter

from prism_audio.errors import InputError
from prism_audio.io.types import Float64

_BLOCK, _STEP = 0.4, 0.1
_ABSOLUTE_GATE, _RELATIVE_GATE = -70.0, -10.0
_OFFSET = -0.691

# The standard prints its two filters as coefficients at 48 kHz. These are the analogue filters that
# give those coefficients under the bilinear transform, so that they can be made at any rate.
_SHELF_HZ, _SHELF_Q, _SHELF_DB, _SHELF_MIDDLE = (
    1681.9744509555,
    0.7071752370,
    3.9998438540,
    0.49966677,
)
_HIGHPASS_HZ, _HIGHPASS_Q = 38.1354708760, 0.5003270373


def k_filters(rate: int) -> tuple[tuple[Float64, Float64], tuple[Float64, Float64]]:
    """Coefficients (b, a) of the standard's head filter (a high shelf) and of its high-pass."""
    w = np.tan(np.pi * _SHELF_HZ / rate)
    top = 10 ** (_SHELF_DB / 20)
    middle = top**_SHELF_MIDDLE * w / _SHELF_Q
    shelf = np.array([top + middle + w * w, 2 * (w * w - top), top - middle + w * w])
    poles = _poles(w, _SHELF_Q)
    w = np.tan(np.pi * _HIGHPASS_HZ / rate)
    low_poles = _poles(w, _HIGHPASS_Q)
    highpass = np.array([1.0, -2.0, 1.0])  # not scaled to unit gain: so the standard has it
    return (shelf / poles[0], poles / poles[0]), (highpass, low_poles / low_poles[0])


def _poles(w: float, q: float) -> Float64:
    return np.array([1 + w / q + w * w, 2 * (w * w - 1), 1 - w / q + w * w])


def rms(samples: ArrayLike, _rate: int) -> float:
    """Power of a sound in dB re full scale; the rate does not matter."""
    return _decibels(float(np.mean(np.square(np.asarray(samples, dtype=np.float64)))))


def lufs(samples: ArrayLike, rate: int) -> float:
    """Integrated loudness of a mono sound in LUFS.

    A sound shorter than one block of 400 ms is measured as if repeated to fill it; the standard
    gives such a sound no loudness at all.
    """
    sound = np.asarray(samples, dtype=np.float64)
    block, step = round(_BLOCK * rate), round(_STEP * rate)
    if len(sound) < block:
        sound = np.resize(sound, block)
    for b, a in k_filters(rate):
        sound = lfilter(b, a, sound)
    sums = np.concatenate([[0.0], np.cumsum(np.square(sound))])
    starts = np.arange(0, len(sound) - block + 1, step)
    power = (sums[starts + block] - sums[starts]) / block
    power = power[power > 10 ** ((_ABSOLUTE_GATE - _OFFSET) / 10)]
    if not len(power):
        return -np.inf
    power = power[power > np.mean(power) * 10 ** (_RELATIVE_GATE / 10)]
    return _OFFSET + _decibels(float(np.mean(power)))


LEVELS: dict[str, Callable[[ArrayLike, int], float]] = {"rms": rms, "lufs": lufs}


def level(samples: ArrayLike, rate: int, definition: str) -> float:
    """Level of a sound by the definition named: ``"rms"`` or ``"lufs"``."""
    if definition not in LEVELS:
        raise InputError(f"Level definition {definition!r} is unknown; use one of {list(LEVELS)}.")
    if np.size(samples) == 0:
        raise InputError("A sound without samples has no level; give at least one sample.")
    return LEVELS[definition](samples, rate)


def _decibels(power: float) -> float:
    return 10 * float(np.log10(power)) if power > 0 else -np.inf

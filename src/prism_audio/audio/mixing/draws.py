"""The random choices in a mixture: which SNR, which stretch of background, when the event begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from prism_audio.errors import InputError

Seed = int | Sequence[int]
Snr = float | Sequence[float]

LARGEST_SNR = 120  # dB; more than 20 bits apart, the weaker part is gone from any file


class EventTime(NamedTuple):
    """When an event begins in a scene, in seconds: a normal law cut off at both ends."""

    mean: float = 3.0
    deviation: float = 1.5
    earliest: float = 0.0
    latest: float = 6.0

    def at(self, u: float) -> float:
        """Quantile ``u`` of the law; a uniform ``u`` is a draw from it."""
        if not (self.deviation > 0 and 0 <= self.earliest <= self.latest):
            raise InputError(
                f"{self} is no law of times; set deviation > 0, 0 <= earliest <= latest."
            )
        low, high = ndtr((np.array([self.earliest, self.latest]) - self.mean) / self.deviation)
        time = self.mean + self.deviation * ndtri(low + u * (high - low))
        return float(np.clip(time, self.earliest, self.latest))


class Draws(NamedTuple):
    """One uniform number in [0, 1) for each choice.

    All are drawn whether they are needed or not, so that one seed gives the same excerpt at every
    SNR, and results at two SNRs can be compared clip by clip.
    """

    snr: float
    excerpt: float
    time: float


def draws(seed: Seed) -> Draws:
    """Draw for one mixture."""
    try:
        return Draws(*np.random.default_rng(seed).random(3).tolist())
    except (TypeError, ValueError) as error:
        raise InputError(f"seed is {seed!r}; give one or more whole numbers from 0 on.") from error


def asked_snr(snr: Snr, u: float) -> float:
    """The SNR itself, or quantile ``u`` between two bounds."""
    bounds = np.asarray(snr, dtype=np.float64)
    if bounds.shape not in ((), (2,)) or not (np.abs(bounds) <= LARGEST_SNR).all():
        raise InputError(
            f"snr is {snr!r}; give a number of dB between -{LARGEST_SNR} and {LARGEST_SNR}, or two: "
            "(low, high)."
        )
    low, high = np.broadcast_to(bounds, 2)
    return float(low + u * (high - low))

"""CLAP's input: log-mel spectrograms ("pictures") of ten-second windows, the same at every call.

The constants are those of the model's ``preprocessor_config.json``, and the values those of
transformers' ``ClapFeatureExtractor``, which itself needs PyTorch, crops long clips at random and
declares a random short clip of every batch to be a long one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from prism_audio.errors import AssetError, InputError
from prism_audio.io.types import Float32, Float64

_FLOOR = 1e-10  # power under which CLAP's extractor hears nothing (-100 dB)
_PADDINGS = ("repeatpad", "repeat", "pad")
_WORDS = ("truncation", "padding")
# What an extractor uses where its file says nothing.
_USUAL: dict[str, Any] = {
    "feature_size": 64,
    "sampling_rate": 48_000,
    "hop_length": 480,
    "max_length_s": 10,
    "fft_window_size": 1024,
    "frequency_min": 0,
    "frequency_max": 14_000,
    "truncation": "fusion",
    "padding": "repeatpad",
}
# Frames transformed at once: few enough to stay in the processor's cache.
_BLOCK = 64


@dataclass(frozen=True)
class MelFrontEnd:
    """Windows of sound in, spectrogram pictures out."""

    # Sampling rate in Hz and samples in a window.
    rate: int
    samples: int
    # Samples in a frame of the Fourier transform and between the starts of two frames.
    size: int
    hop: int
    mels: int  # mel bands in a picture
    band: tuple[float, float]  # where the lowest band begins and the highest ends, in Hz
    slaney: bool  # Slaney's mel scale with bands of unit area, or HTK's with bands of unit height
    # How the model wants a shorter piece filled up: ``repeatpad``, ``repeat`` or ``pad``.
    padding: str

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> MelFrontEnd:
        """The front end that a ``preprocessor_config.json`` describes."""
        given = {name: settings.get(name, usual) for name, usual in _USUAL.items()}
        if given["padding"] not in _PADDINGS:
            raise AssetError(f"unknown padding {given['padding']!r} in the feature extractor")
        numbers = {name: value for name, value in given.items() if name not in _WORDS}
        if not all(isinstance(value, int | float) and value >= 0 for value in numbers.values()):
            raise AssetError(f"the feature extractor's settings are not numbers: {numbers}")
        rate = int(given["sampling_rate"])
        return cls(
            rate=rate,
            samples=int(given["max_length_s"] * rate),
            size=int(given["fft_window_size"]),
            hop=int(given["hop_length"]),
            mels=int(given["feature_size"]),
            band=(given["frequency_min"], given["frequency_max"]),
            # Fused models were trained on the one filter bank, all others on the other.
            slaney=given["truncation"] != "fusion",
            padding=given["padding"],
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The content of a ``preprocessor_config.json`` that describes this front end."""
        return {
            "feature_extractor_type": "ClapFeatureExtractor",
            "feature_size": self.mels,
            "sampling_rate": self.rate,
            "hop_length": self.hop,
            "max_length_s": self.samples // self.rate,
            "fft_window_size": self.size,
            "frequency_min": self.band[0],
            "frequency_max": self.band[1],
            "truncation": "rand_trunc" if self.slaney else "fusion",
            "padding": self.padding,
        }

    @cached_property
    def filters(self) -> Float64:
        """The mel filter bank (size // 2 + 1, mels)."""
        return mel_filters(self.size // 2 + 1, self.mels, self.band, self.rate, slaney=self.slaney)

    @property
    def frames(self) -> int:
        """Frames in a picture."""
        return self.samples // self.hop + 1

    def fill(self, sound: Float32) -> Float32:
        """A whole window from at most a window of ``sound``, filled as the model was trained.

        ``repeatpad``: as many whole repeats as fit, then zeros.
        """
        if not 0 < len(sound) <= self.samples:
            raise InputError(f"a window holds 1 to {self.samples} samples, not {len(sound)}")
        if self.padding == "repeat":
            return np.resize(sound, self.samples)
        whole = self.samples // len(sound) if self.padding == "repeatpad" else 1
        window = np.zeros(self.samples, dtype=np.float32)
        window[: whole * len(sound)] = np.tile(sound, whole)
        return window

    def pictures(self, windows: Float32) -> Float32:
        """Decibels (B, 1, frames, mels) of windows (B, samples).

        One picture a window for fused models too: their other three show parts of a clip that is
        longer than a window, which a window never is.
        """
        return np.stack([self.picture(window)[None] for window in windows])

    def picture(self, window: Float32) -> Float32:
        """Decibels (frames, mels) of one window: centred frames, the edges mirrored."""
        first, last, halves = self._band
        # Double precision: beside a loud tone, single would hide what lies 140 dB below it.
        half = self.size // 2
        mirrored = [window[half:0:-1], window, window[-2 : -half - 2 : -1]]
        padded = np.concatenate(mirrored, dtype=np.float64)
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.size)[:: self.hop]
        power = np.empty((len(frames), self.mels))
        for start in range(0, len(frames), _BLOCK):
            block = slice(start, start + _BLOCK)
            spectrum = fft.rfft(frames[block] * self._hann)[:, first:last]
            energy = spectrum.real**2 + spectrum.imag**2
            for half, (weights, starts) in enumerate(halves):
                power[block, half::2] = np.add.reduceat(energy * weights, starts, axis=1)
        decibels: Float32 = (10 * np.log10(np.maximum(power, _FLOOR))).astype(np.float32)
        return decibels

    @cached_property
    def _hann(self) -> Float64:
        """The periodic Hann window."""
        return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.size) / self.size)

    @cached_property
    def _band(self) -> tuple[int, int, list[tuple[Float64, NDArray[np.intp]]]]:
        """The frequencies that any filter uses, first and last + 1, and the filters in two halves.

        A filter overlaps with its two neighbours alone. So every other filter is a sum over a part of
        the frequencies, and no two parts overlap: the weight of each frequency, and where each part
        starts. A product with the whole bank would start threads of BLAS, which take the cores from
        the networks that run at the same time.
        """
        used = np.flatnonzero(self.filters.any(axis=1))
        first, last = int(used[0]), int(used[-1]) + 1
        filters = self.filters[first:last]
        if not filters.any(axis=0).all():
            raise AssetError(f"{self.mels} mel bands are too many: one lies between frequencies")
        starts = (filters > 0).argmax(axis=0)
        return first, last, [(filters[:, half::2].sum(axis=1), starts[half::2]) for half in (0, 1)]


def mel_filters(
    bins: int, mels: int, band: tuple[float, float], rate: int, *, slaney: bool
) -> Float64:
    """Triangular filters (bins, mels) between equal steps of the mel scale, within ``band`` in Hz.

    The ``bins`` are frequencies from 0 Hz to half the rate. With ``slaney`` the scale is Slaney's and
    each filter has unit area; otherwise it is HTK's, and each has unit height.
    """
    to_mel, to_hertz = (_slaney_mel, _slaney_hertz) if slaney else (_htk_mel, _htk_hertz)
    edges = to_hertz(np.linspace(to_mel(band[0]), to_mel(band[1]), mels + 2))
    widths = np.diff(edges)
    slopes = edges - np.linspace(0, rate // 2, bins)[:, None]
    rising, falling = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
    filters = np.maximum(0.0, np.minimum(rising, falling))
    if slaney:
        filters *= 2.0 / (edges[2:] - edges[:-2])
    return filters


def _htk_mel(hertz: float) -> float:
    return float(2595.0 * np.log10(1.0 + hertz / 700.0))


def _htk_hertz(mel: Float64) -> Float64:
    return 700.0 * (np.power(10, mel / 2595.0) - 1.0)


# Slaney's scale: linear up to 1000 Hz, which is 15 mel, and logarithmic above.
_BEND_HERTZ, _BEND_MEL = 1000.0, 15.0


def _slaney_mel(hertz: float) -> float:
    if hertz < _BEND_HERTZ:
        return 3.0 * hertz / 200.0
    return float(_BEND_MEL + np.log(hertz / _BEND_HERTZ) * (27.0 / np.log(6.4)))


def _slaney_hertz(mel: Float64) -> Float64:
    bent = _BEND_HERTZ * np.exp(np.log(6.4) / 27.0 * (mel - _BEND_MEL))
    hertz: Float64 = np.where(mel >= _BEND_MEL, bent, 200.0 * mel / 3.0)
    return hertz

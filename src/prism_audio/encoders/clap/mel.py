"""The picture CLAP sees: log-mel spectrograms of ten-second windows, the same at every call.

The constants and the filter bank are those of the checkpoint's ``ClapFeatureExtractor``; the
transform is computed here, because the extractor crops long clips at random and declares a random
short clip of every batch to be a long one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from prism_audio.errors import AssetError, InputError
from prism_audio.io.types import Float32

if TYPE_CHECKING:
    from transformers import ClapFeatureExtractor


_FLOOR = 1e-10  # power under which CLAP's extractor hears nothing (-100 dB)


@dataclass(frozen=True)
class MelFrontEnd:
    """Windows of sound in, spectrogram pictures out.

    Attributes
    ----------
    rate, samples : int
        Sampling rate in Hz and samples in a window.
    size, hop : int
        Samples in a frame of the Fourier transform and between the starts of two frames.
    filters : array of shape (size // 2 + 1, mels)
        The mel filter bank.
    padding : str
        How the checkpoint wants a shorter piece filled up: ``repeatpad``, ``repeat`` or ``pad``.
    """

    rate: int
    samples: int
    size: int
    hop: int
    filters: NDArray[np.float64]
    padding: str

    @classmethod
    def of(cls, extractor: ClapFeatureExtractor) -> MelFrontEnd:
        """What ``extractor`` would do, without its dice."""
        if extractor.padding not in ("repeatpad", "repeat", "pad"):
            raise AssetError(f"unknown padding {extractor.padding!r} in the feature extractor")
        # Fused models were trained on the one filter bank, all others on the other.
        fused = extractor.truncation == "fusion"
        filters = extractor.mel_filters if fused else extractor.mel_filters_slaney
        return cls(
            rate=int(extractor.sampling_rate),
            samples=int(extractor.nb_max_samples),
            size=int(extractor.fft_window_size),
            hop=int(extractor.hop_length),
            filters=np.asarray(filters, dtype=np.float64),
            padding=extractor.padding,
        )

    def fill(self, sound: Float32) -> Float32:
        """A whole window from at most a window of ``sound``, as the checkpoint wants it filled."""
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
        return np.stack([self._picture(window)[None] for window in windows])

    def _picture(self, window: Float32) -> Float32:
        padded = np.pad(window.astype(np.float64), self.size // 2, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.size)[:: self.hop]
        hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.size) / self.size)
        power = np.abs(fft.rfft(frames * hann)) ** 2
        decibels: Float32 = (10 * np.log10(np.maximum(power @ self.filters, _FLOOR))).astype("f4")
        return decibels

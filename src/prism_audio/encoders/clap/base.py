"""What every CLAP encoder shares, whoever computes its towers: windows, padding, pooling, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from prism_audio.encoders.clap.mel import MelFrontEnd
from prism_audio.errors import InputError
from prism_audio.io.types import Float32


class ClapBase(ABC):
    """CLAP as a PRISM encoder without its towers.

    Long clips are not cropped at random but seen window by window; no short clip is declared a long
    one; no member of a batch changes another; the same sound gives the same vector every time.
    """

    def __init__(self, name: str, fingerprint: str, dim: int, mel: MelFrontEnd) -> None:
        self.id = name
        self.fingerprint = fingerprint
        self.dim = dim
        self.rate = mel.rate
        self.window = self.hop = mel.samples / mel.rate
        self.mel = mel

    @abstractmethod
    def _audio_rows(self, windows: Float32) -> Float32:
        """Unit rows of checked windows."""

    @abstractmethod
    def _text_rows(self, texts: list[str]) -> Float32:
        """Unit rows of texts."""

    def pad(self, sound: Float32) -> Float32:
        """A whole window from a shorter piece of sound, filled as the model was trained."""
        return self.mel.fill(np.asarray(sound, dtype=np.float32))

    def embed_windows(self, windows: Float32) -> Float32:
        """Unit rows (B, d) of windows (B, window * rate), mono float32 in [-1, 1].

        Digital silence has no direction: its rows are zero.
        """
        windows = np.asarray(windows, dtype=np.float32)
        if windows.ndim != 2 or windows.shape[1] != self.mel.samples:
            raise InputError(
                f"windows of shape (any, {self.mel.samples}) were wanted ({self.window:g} s at "
                f"{self.rate} Hz), not {windows.shape}"
            )
        if not np.isfinite(windows).all():
            raise InputError("the windows hold NaN or infinite samples")
        rows = self._audio_rows(windows)
        sounding = np.any(windows, axis=1, keepdims=True)
        return rows if sounding.all() else np.where(sounding, rows, np.float32(0))

    def pool(self, features: Float32, weights: Float32) -> Float32:
        """The mean direction (d,) of unit rows, each counting by its seconds of real sound.

        Zero if all of them are silent.
        """
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(features),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise InputError("pooling wants one weight a row, none negative, not all zero")
        if not np.any(features):
            return np.zeros(self.dim, np.float32)
        mean = weights @ np.asarray(features, dtype=np.float64)
        length = np.linalg.norm(mean)
        if not length > 0:
            raise InputError("the windows' embeddings cancel out: their mean has no direction")
        return (mean / length).astype(np.float32)

    def embed_text(self, texts: Sequence[str]) -> Float32:
        """Unit rows (len(texts), d) in the order of ``texts``."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("a list of texts was wanted, one string each")
        return self._text_rows(list(texts))

    def _joined(self, batches: Sequence[Float32]) -> Float32:
        """Rows of batches below each other; none give an array without rows."""
        return np.concatenate([np.empty((0, self.dim), np.float32), *batches])


def unit_rows(rows: Float32) -> Float32:
    """Rows divided by their length."""
    unit: Float32 = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def too_long(text: str, room: int) -> InputError:
    """The refusal of a text that the text tower cannot hold."""
    return InputError(f"a text is longer than the {room} tokens CLAP reads: {text[:60]!r}")

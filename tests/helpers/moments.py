"""An encoder that can be followed by hand, for tests of everything around encoders."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from prism_audio.errors import InputError


class Moments:
    """An encoder that can be followed by hand: a window's level, peak, sharpness and balance."""

    id = "moments"
    fingerprint = hashlib.sha256(b"moments").hexdigest()
    dim = 4
    rate = 8_000
    window = 0.5
    hop = 0.2

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def embed_windows(self, windows: np.ndarray) -> np.ndarray:
        if windows.ndim != 2 or windows.shape[1] != 4_000 or not np.isfinite(windows).all():
            raise InputError(f"windows of shape (any, 4000) were wanted, not {windows.shape}")
        x = self.gain * windows.astype(np.float64)
        rows = [np.abs(x).mean(1), np.abs(x).max(1), np.abs(np.diff(x)).mean(1), 1 + x.mean(1)]
        return np.stack(rows, axis=1).astype(np.float32)

    def pool(self, features: np.ndarray, weights: np.ndarray) -> np.ndarray:
        mean = np.average(features, axis=0, weights=weights)
        if not mean[:3].any():  # silence
            return np.zeros(4, np.float32)
        return (mean / np.linalg.norm(mean)).astype(np.float32)

    def embed_text(self, texts: Sequence[str]) -> np.ndarray:
        if isinstance(texts, str):
            raise InputError("a list of texts was wanted")
        rows = [list(hashlib.sha256(text.encode()).digest()[:4]) for text in texts]
        floats = 1 + np.array(rows, np.float32).reshape(len(rows), 4)
        return floats / np.linalg.norm(floats, axis=1, keepdims=True)


class FilledUp(Moments):
    """The same, trained on short sounds that were repeated."""

    def pad(self, sound: np.ndarray) -> np.ndarray:
        return np.resize(sound, 4_000)


def noise(seconds: float, seed: int = 0) -> np.ndarray:
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * 8_000))
    return samples.astype(np.float32)

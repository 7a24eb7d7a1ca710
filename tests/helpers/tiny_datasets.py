"""A cheap encoder, and recordings for it, for tests of what surrounds an encoder."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile as sf

from prism_audio.io.types import Float32

RATE = 8000


class TinyEncoder:
    """Band energies through a fixed projection.

    A trace of the batch (its mean, its size) leaks into every row on purpose: only a run that
    composes its batches as another one did can give the same bytes.
    """

    id = "tiny"
    fingerprint = "tiny-1"
    dim = 12
    rate = RATE
    window = 1.0
    hop = 0.5
    bands = 20
    leak = 1e-6

    def __init__(self) -> None:
        self._projection = np.random.default_rng(7).standard_normal((self.bands, self.dim))
        self.batches: list[int] = []
        self.pause = float(os.environ.get("TINY_PAUSE", "0"))

    def embed_windows(self, windows: Float32) -> Float32:
        time.sleep(self.pause)
        self.batches.append(len(windows))
        power = np.abs(np.fft.rfft(windows, axis=1)[:, :4000]) ** 2
        bands = power.reshape(len(windows), self.bands, -1).sum(axis=2)
        features = np.log1p(bands)
        trace = self.leak * (features.mean() + len(windows))
        return (features + trace).astype(np.float32)

    def pool(self, features: Float32, weights: Float32) -> Float32:
        mean = np.einsum("b,bf->f", weights.astype(np.float64), features) / weights.sum()
        vector = (mean[:, None] * self._projection).sum(axis=0)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def embed_text(self, texts: Sequence[str]) -> Float32:
        raise NotImplementedError


class OtherEncoder(TinyEncoder):
    """The same with other weights."""

    fingerprint = "tiny-2"


def recording(path: Path, seconds: float, seed: int = 0) -> Path:
    """Write a noisy tone of its own pitch."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    time_axis = np.arange(round(seconds * RATE)) / RATE
    tone = np.sin(2 * np.pi * rng.uniform(100, 3000) * time_axis)
    sf.write(path, 0.3 * tone + 0.05 * rng.standard_normal(len(time_axis)), RATE)
    return path


def recordings(folder: Path, count: int) -> list[Path]:
    """Recordings of 0.3 to 4 s, so that windows of several files share a batch."""
    lengths = np.random.default_rng(3).uniform(0.3, 4.0, count)
    return [
        recording(folder / f"{'ab'[number % 2]}" / f"{number:04d}.wav", length, number)
        for number, length in enumerate(lengths)
    ]

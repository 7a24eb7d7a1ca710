"""A cheap audio-text space for tests: sixteen bands of sound, and texts that name one by number."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile as sf

from prism_audio.io.types import Float32

RATE = 8000
BANDS = 16
LABELS = "tone 2, tone 7, tone 12"


class BandEncoder:
    """Log energies of sixteen bands; "tone 7" is the text vector of the seventh."""

    id = "bands"
    fingerprint = "bands-fingerprint-1"
    dim = BANDS
    rate = RATE
    window = 0.5
    hop = 0.25

    def __init__(self) -> None:
        self._pause = float(os.environ.get("BANDS_PAUSE", "0"))
        self._mark = os.environ.get("BANDS_MARK")

    def embed_windows(self, windows: Float32) -> Float32:
        if self._mark:
            Path(self._mark).touch()
        time.sleep(self._pause)
        power = np.abs(np.fft.rfft(windows, axis=1)[:, 1:2001]) ** 2
        # In float64 and row by row, so that a window is the same alone and in a batch.
        bands = np.stack([row.astype(np.float64).reshape(BANDS, -1).sum(axis=1) for row in power])
        return np.log(bands + 1e-3).astype(np.float32)

    def pool(self, features: Float32, weights: Float32) -> Float32:
        mean = weights.astype(np.float64) @ features.astype(np.float64) / weights.sum()
        return _unit(mean - mean.mean() + 1e-3)

    def embed_text(self, texts: Sequence[str]) -> Float32:
        return np.stack([self._text(text) for text in texts])

    def _text(self, text: str) -> Float32:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        vector = np.random.default_rng(seed).standard_normal(BANDS)
        if number := re.search(r"tone (\d+)", text):
            vector = 0.1 * vector + 4 * (np.arange(BANDS) == int(number[1]))
        return _unit(vector)


class OtherEncoder(BandEncoder):
    """The same, by another name."""

    id = "bands-other"
    fingerprint = "bands-fingerprint-2"


def _unit(vector: np.ndarray) -> Float32:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def tone(band: int, seconds: float, seed: int, noise: float = 0.05) -> np.ndarray:
    """A tone in the middle of a band, in noise."""
    rng = np.random.default_rng(seed)
    hertz = (band + rng.uniform(0.3, 0.7)) * RATE / 2 / BANDS
    times = np.arange(round(seconds * RATE)) / RATE
    return 0.3 * np.sin(2 * np.pi * hertz * times) + noise * rng.standard_normal(len(times))


def write(path: Path, samples: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    sf.write(path, samples, RATE)
    return path


def recordings(folder: Path, each: int = 8, seconds: float = 1.2, hum: float = 0.0) -> Path:
    """``each`` recordings of every class of :data:`LABELS`, named by their class.

    With a ``hum`` the place makes a tone 7 of its own, louder from one recording to the next.
    """
    for band in (2, 7, 12):
        for number in range(each):
            seed = 100 * band + number
            place = hum * number / each * tone(7, seconds, seed + 1, noise=0.0)
            samples = tone(band, seconds, seed) + place
            write(folder / f"{band:02d}-{number:02d}.wav", samples)
    return folder

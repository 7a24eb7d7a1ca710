"""Small sounds and small files of every kind, made in memory."""

from __future__ import annotations

import io

import numpy as np
import soundfile
from numpy.typing import NDArray

# Kind of file: (format, encoding, largest error of its encoding on a sample).
KINDS = {
    "wav": ("WAV", "PCM_16", 2**-15),
    "wav-8-bit": ("WAV", "PCM_U8", 2**-7),
    "wav-24-bit": ("WAV", "PCM_24", 2**-23),
    "wav-float": ("WAV", "FLOAT", 0.0),
    "wav-double": ("WAV", "DOUBLE", 0.0),
    "wav-adpcm": ("WAV", "IMA_ADPCM", 0.1),
    "wavex": ("WAVEX", "PCM_16", 2**-15),
    "rf64": ("RF64", "PCM_16", 2**-15),
    "w64": ("W64", "PCM_16", 2**-15),
    "aiff": ("AIFF", "PCM_16", 2**-15),
    "au": ("AU", "PCM_16", 2**-15),
    "caf": ("CAF", "PCM_16", 2**-15),
    "flac": ("FLAC", "PCM_16", 2**-15),
    "ogg": ("OGG", "VORBIS", 0.1),
    "mp3": ("MP3", "MPEG_LAYER_III", 0.1),
}


def tone(seconds: float, rate: int, hertz: float = 440.0, peak: float = 0.3) -> NDArray[np.float32]:
    """A sine."""
    time = np.arange(round(seconds * rate)) / rate
    return (peak * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def noise(seconds: float, rate: int, seed: int = 0, deviation: float = 0.1) -> NDArray[np.float32]:
    """White noise."""
    samples = np.random.default_rng(seed).standard_normal(round(seconds * rate))
    return (deviation * samples).astype(np.float32)


def encoded(samples: NDArray[np.floating], rate: int, kind: str = "wav", **tags: str) -> bytes:
    """The bytes of a file."""
    container, encoding, _ = KINDS[kind]
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    file = io.BytesIO()
    with soundfile.SoundFile(
        file, "w", rate, channels, subtype=encoding, format=container
    ) as target:
        for name, value in tags.items():
            setattr(target, name, value)
        target.write(samples)
    return file.getvalue()


def named(data: bytes, name: str = "clip.wav") -> io.BytesIO:
    """An upload in memory."""
    file = io.BytesIO(data)
    file.name = name
    return file

"""Cut a stretch out of a recording, at the rate that it was recorded with."""

from __future__ import annotations

import io

import numpy as np
import soundfile

from prism_audio.audio.decode import probe, stream
from prism_audio.audio.source import AudioFile
from prism_audio.errors import AudioError
from prism_audio.io.types import Float32


def cut(source: AudioFile, start: float, end: float) -> tuple[Float32, int]:
    """The mono samples from ``start`` to ``end`` seconds, and their rate in Hz."""
    rate = probe(source).rate
    first, last = round(max(start, 0.0) * rate), round(end * rate)
    pieces, at = [np.empty(0, np.float32)], 0
    for block in stream(source, rate):
        pieces.append(block[max(first - at, 0) : max(last - at, 0)])
        at += len(block)
        if at >= last:
            break
    samples = np.concatenate(pieces)
    if len(samples) == 0:
        raise AudioError(f"{source}: it ends before {start:.2f} s. Embed the folder again.")
    return samples, rate


def as_wav(samples: Float32, rate: int) -> bytes:
    """The bytes of a 16-bit WAV file."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", subtype="PCM_16")
    return file.getvalue()

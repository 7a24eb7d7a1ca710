"""Silence: for how long nothing has been heard."""

from __future__ import annotations

import numpy as np

from prism_audio.io.types import Float32

# A sample below this (-80 dB) is silence, with the dither and hum of cheap converters.
PEAK = 1e-4


class Silence:
    """Counts ``seconds`` since the last loud sample."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def add(self, block: Float32, rate: int) -> bool:
        """Take in the next block; whether anything in it is loud."""
        loud = np.flatnonzero(np.abs(block) > PEAK)
        since = len(block) - loud[-1] if len(loud) else len(block)
        self.seconds = since / rate + (0.0 if len(loud) else self.seconds)
        return len(loud) > 0

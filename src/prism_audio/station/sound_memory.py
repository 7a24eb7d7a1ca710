"""The last minutes of a source's sound, from which the clips of its events are cut."""

from __future__ import annotations

from collections import deque

import numpy as np

from prism_audio.io.types import Float32


class SoundMemory:
    """Blocks of sound, the oldest forgotten; ``seconds`` have come in all.

    Parameters
    ----------
    rate : int
        Samples a second.
    span : float
        Seconds that it holds at least.
    """

    def __init__(self, rate: int, span: float) -> None:
        self._rate, self._most = rate, round(span * rate)
        self._blocks: deque[Float32] = deque()
        self._held, self._total = 0, 0

    @property
    def seconds(self) -> float:
        """Seconds of sound that have come."""
        return self._total / self._rate

    def add(self, block: Float32) -> None:
        """Take in the next block."""
        self._blocks.append(block)
        self._held += len(block)
        self._total += len(block)
        while self._blocks and self._held - len(self._blocks[0]) >= self._most:
            self._held -= len(self._blocks.popleft())

    def cut(self, start: float, end: float) -> Float32:
        """The sound from ``start`` to ``end``, in seconds, as far as it is remembered."""
        begin = self._total - self._held
        first, last = (max(0, round(second * self._rate) - begin) for second in (start, end))
        parts, place = [np.empty(0, np.float32)], 0
        for block in self._blocks:
            parts.append(block[max(0, first - place) : max(0, last - place)])
            place += len(block)
        return np.concatenate(parts)

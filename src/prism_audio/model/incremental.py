"""A sample of rows in bounded memory, for calibration with clips that arrive over time.

    u_i   = i / memory + Exp(1)          drawn once, when clip i arrives
    held  = {i : u_i >= t / memory}, at most the ``capacity`` largest of them

Every clip draws how long it stays, so clip i is still held after t with probability
exp(-(t - i) / memory), whatever the others do: a sample that forgets exponentially. Without forgetting
(memory = infinity) the u_i are alike for all clips and the largest ``capacity`` of them are a uniform
sample of everything that came. Which clips are held depends on the seed and their order alone, not on
the chunks they came in. A labelled clip is worth many others, so without forgetting it stays.

The ordinary calibration runs on the clips held. While all are, the result is that of one batch; and
because that is graded, a place starts as zero-shot with its first clip, its shift is corrected from a
dozen on, and the rest as more arrive.
"""

from __future__ import annotations

import math

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.sphere import Labels
from prism_audio.io.types import Float, Float64
from prism_audio.model.truth import UNLABELLED

# 32 MiB of float32 rows with d = 512. Labels of a calibration hang on its sample, so it should be large.
CAPACITY = 16_384


class Reservoir:
    """A sample of at most ``capacity`` of all rows that came, uniform or forgetting.

    After ``memory`` more rows a row is forgotten with probability 1 - 1/e; None forgets nothing.
    """

    def __init__(
        self, capacity: int = CAPACITY, memory: float | None = None, seed: int = 0
    ) -> None:
        if capacity < 1:
            raise InputError(f"capacity={capacity}; a reservoir holds at least one clip")
        if memory is not None and not memory > 0:
            raise InputError(f"memory={memory}; wanted a positive number of clips, or None")
        self._capacity, self._memory = capacity, math.inf if memory is None else memory
        self._random = np.random.default_rng(seed)
        self._stay: Float64 = np.empty(0)
        # The rows (n, d) held, in the order in which they came.
        self.rows: Float = np.empty((0, 0), dtype=np.float32)
        self.y: Labels = np.empty(
            0, dtype=np.intp
        )  # their classes (n,), -1 where there is no label
        self.seen = 0  # how many came

    def add(self, rows: Float, y: Labels | None = None) -> None:
        """Take in ``rows`` (n, d) with classes ``y`` (n,); the caller's arrays are never kept."""
        y = np.full(len(rows), UNLABELLED, dtype=np.intp) if y is None else y
        arrival = self.seen + np.arange(len(rows))
        self.seen += len(rows)
        stay = arrival / self._memory + self._random.standard_exponential(len(rows))
        if math.isinf(self._memory):
            stay[y != UNLABELLED] = math.inf
        stay = np.concatenate([self._stay, stay])
        held = np.flatnonzero(stay >= (self.seen - 1) / self._memory)
        if len(held) > self._capacity:
            largest = np.argpartition(stay[held], -self._capacity)[-self._capacity :]
            held = np.sort(held[largest])
        before = len(self._stay)
        old, new = held[held < before], rows[held[held >= before] - before]
        kind = self.rows.dtype if before else rows.dtype
        self.rows = np.concatenate([self.rows[old], new]).astype(kind) if before else new.copy()
        self.y = np.concatenate([self.y, y])[held]
        self._stay = stay[held]

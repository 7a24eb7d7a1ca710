"""Row readers one after the other, as one matrix that is read in chunks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from prism_audio.errors import InputError
from prism_audio.io.matrices.rows import RowReader
from prism_audio.io.types import Float


@dataclass(frozen=True)
class RowTable:
    """A matrix (N, d) in one or several parts; ``name`` is for messages."""

    parts: Sequence[RowReader]
    name: str = "X"

    def __post_init__(self) -> None:
        widths = {part.shape[1] for part in self.parts}
        if not self.parts or not self.shape[0]:
            raise InputError(f"{self.name} holds no rows")
        if len(widths) > 1:
            raise InputError(
                f"{self.name} holds rows of {sorted(widths)} dimensions; wanted one width"
            )

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(part.shape[0] for part in self.parts))

    @property
    def shape(self) -> tuple[int, int]:
        return self._ends[-1], self.parts[0].shape[1]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """float64 for rows of float64 or integers, else float32."""
        common = np.result_type(*(part.dtype for part in self.parts))
        return np.dtype(np.float32 if common in (np.float16, np.float32) else np.float64)

    def read(self, start: int, stop: int) -> Float:
        """The rows from ``start`` to ``stop`` in the type of the table."""
        arrays = []
        at = bisect_right(self._ends, start)
        while start < stop:
            part = self.parts[at]
            begin = self._ends[at] - part.shape[0]
            end = min(stop, self._ends[at])
            if end > start:
                arrays.append(part.read(start - begin, end - begin))
            start, at = end, at + 1
        rows = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return np.ascontiguousarray(rows, dtype=self.dtype)

"""A source of rows larger than memory: every pass reads a chunk, works on it, and forgets it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError
from prism_audio.geometry.products import BLOCK_ROWS, row_blocks
from prism_audio.geometry.source import Notes, RowSource, ScanResult, Work, merge
from prism_audio.geometry.sphere import Mask, unit_rows
from prism_audio.io.arrays import refuse_non_finite, regrouped
from prism_audio.io.matrices import MemoryRows, RowTable, flat_copy
from prism_audio.io.types import Float

# 8 MiB of float32 rows with d = 512: so much memory is handed out again for the next chunk, while
# larger pieces go back to the system, and getting them anew takes longer than reading them.
CHUNK_ROWS = 4096


class ChunkSpan(NamedTuple):
    """A chunk: rows from ``start`` to ``stop`` of a table, and whether they have unit length."""

    start: int
    stop: int
    unit: bool = False


@dataclass(frozen=True, eq=False)
class Chunks:
    """Rows of a table as a source; :func:`open_chunks` makes one.

    Attributes
    ----------
    table : RowTable
        The rows on disk.
    spans : tuple of ChunkSpan
        The chunks, which cover the table.
    heard : (N,) array of bool
        Rows with a direction. The others (silence) are left out of every pass.
    dtype : dtype
        The float type in which rows are shown.
    """

    table: RowTable
    spans: tuple[ChunkSpan, ...]
    heard: Mask
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.heard.sum()), self.table.shape[1]

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        # The blocks are those of an array in memory, whatever the chunks: so are the last digits.
        blocks = regrouped(starmap(self.read, self.parts()), BLOCK_ROWS)
        rows = row_blocks(self.shape[0])
        return merge(
            work(E, *(note[at] for note in notes)) for at, E in zip(rows, blocks, strict=True)
        )

    def parts(self) -> Iterator[tuple[ChunkSpan, Mask]]:
        """Every chunk, and which of its rows are heard."""
        return ((span, self.heard[span.start : span.stop]) for span in self.spans)

    def read(self, span: ChunkSpan, heard: Mask) -> Float:
        """The heard rows of a chunk, of unit length."""
        E = self.table.read(span.start, span.stop)
        if not heard.all():
            E = E[heard]
        if not span.unit:
            E = unit_rows(E)
        return E.astype(self.dtype, copy=False)

    def astype(self, dtype: Any) -> Chunks:
        return replace(self, dtype=np.dtype(dtype))

    def only(self, chosen: Mask) -> RowSource:
        return Marked(self, chosen)


@dataclass(frozen=True, eq=False)
class Marked:
    """Some rows of another source, which is read whole."""

    source: RowSource
    chosen: Mask

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.chosen.sum()), self.source.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def heard(self) -> Mask:
        both = np.zeros_like(self.source.heard)
        both[self.source.heard] = self.chosen
        return both

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        spread = []
        for note in notes:
            full = np.zeros((len(self.chosen), *note.shape[1:]), note.dtype)
            full[self.chosen] = note
            spread.append(full)
        return self.source.scan(partial(_of_marked, work), self.chosen, *spread)

    def astype(self, dtype: Any) -> Marked:
        return Marked(self.source.astype(dtype), self.chosen)

    def only(self, chosen: Mask) -> Marked:
        both = np.zeros_like(self.chosen)
        both[self.chosen] = chosen
        return Marked(self.source, both)


def open_chunks(table: RowTable | NDArray[Any], rows: int = CHUNK_ROWS) -> Chunks:
    """A table, or an array, as a source; read once to find silence and what is no number.

    Parameters
    ----------
    table : RowTable or array
        The rows.
    rows : int
        Rows a chunk; memory grows with it, the result does not change.
    """
    if not isinstance(table, RowTable):
        table = RowTable([MemoryRows(table)])
    table = flat_copy(table)
    bounds = cut(table.shape[0], rows)
    return gathered(table, bounds, [look(table, *bound) for bound in bounds])


def cut(N: int, rows: int) -> list[tuple[int, int]]:
    """Where chunks of ``rows`` rows begin and end."""
    if rows < 1:
        raise InputError(f"chunks of {rows} rows were asked for; a chunk takes at least one")
    return [(start, min(start + rows, N)) for start in range(0, N, rows)]


def look(table: RowTable, start: int, stop: int) -> tuple[Mask, bool]:
    """Which rows of a chunk have a direction, and whether those have unit length to rounding."""
    E = table.read(start, stop)
    refuse_non_finite(E, f"{table.name}, counted from row {start},")
    heard = np.asarray(E.any(axis=1))
    if not heard.all():
        E = E[heard]
    return heard, unit_rows(E) is E


def gathered(
    table: RowTable, bounds: list[tuple[int, int]], looks: Iterable[tuple[Mask, bool]]
) -> Chunks:
    """The source, from what was seen in each of its chunks."""
    masks, units = zip(*looks, strict=True)
    spans = tuple(ChunkSpan(*bound, unit) for bound, unit in zip(bounds, units, strict=True))
    return Chunks(table, spans, np.concatenate(masks), table.dtype)


def _of_marked(work: Work, E: Float, chosen: Mask, *notes: Notes) -> ScanResult:
    return work(E[chosen], *(note[chosen] for note in notes))

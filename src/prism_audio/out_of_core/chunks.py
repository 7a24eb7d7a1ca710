"""A row source larger than memory: every pass reads a chunk, works on it, and forgets it."""

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
from prism_audio.geometry.threads import side_by_side
from prism_audio.io.arrays import refuse_non_finite, regrouped
from prism_audio.io.matrices import MemoryRows, RowTable, flat_copy
from prism_audio.io.types import Float

# 8 MiB of float32 rows with d = 512. The allocator hands blocks of this size out again; larger ones go
# back to the system, and asking for them again takes longer than reading the rows.
CHUNK_ROWS = 4096


class ChunkSpan(NamedTuple):
    """A chunk: rows from ``start`` to ``stop`` of a table, and whether they have unit length."""

    start: int
    stop: int
    unit: bool = False


class ChunkCheck(NamedTuple):
    """What the first look at a chunk finds: which rows have a direction, whether those are unit rows."""

    heard: Mask
    unit: bool


@dataclass(frozen=True, eq=False)
class Chunks:
    """Rows of a table as a :class:`~prism_audio.geometry.source.RowSource`; see :func:`open_chunks`."""

    table: RowTable  # the rows on disk
    spans: tuple[ChunkSpan, ...]  # the chunks, which cover the table
    heard: Mask  # (M,): rows with a direction. The others (silence) are left out of every pass.
    dtype: np.dtype[Any]  # the float type in which rows are shown

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.heard.sum()), self.table.shape[1]

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        # The blocks do not depend on the chunks, so results agree with rows in memory to the last digit.
        blocks = regrouped(starmap(self.read, self.parts()), BLOCK_ROWS)
        rows = row_blocks(self.shape[0])
        return merge(
            side_by_side(
                lambda part: work(part[1], *(note[part[0]] for note in notes)),
                zip(rows, blocks, strict=True),
            )
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
        return MarkedRows(self, chosen)


@dataclass(frozen=True, eq=False)
class MarkedRows:
    """Some rows of another source. Every pass reads all of that source and drops the others."""

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
        heard = self.source.heard.copy()
        heard[heard] = self.chosen
        return heard

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        full_notes = []
        for note in notes:
            full = np.zeros((len(self.chosen), *note.shape[1:]), note.dtype)
            full[self.chosen] = note
            full_notes.append(full)
        return self.source.scan(partial(_work_on_marked, work), self.chosen, *full_notes)

    def astype(self, dtype: Any) -> MarkedRows:
        return MarkedRows(self.source.astype(dtype), self.chosen)

    def only(self, chosen: Mask) -> MarkedRows:
        both = self.chosen.copy()
        both[both] = chosen
        return MarkedRows(self.source, both)


def open_chunks(table: RowTable | NDArray[Any], rows: int = CHUNK_ROWS) -> Chunks:
    """A table, or an array, as a row source; it is read once to find silence and refuse NaN.

    Memory grows with the ``rows`` of a chunk; the result does not change.
    """
    if not isinstance(table, RowTable):
        table = RowTable([MemoryRows(table)])
    table = flat_copy(table)
    bounds = chunk_bounds(table.shape[0], rows)
    return assemble(table, bounds, (check_chunk(table, *bound) for bound in bounds))


def chunk_bounds(N: int, rows: int) -> list[tuple[int, int]]:
    """Where chunks of ``rows`` rows begin and end."""
    if rows < 1:
        raise InputError(f"chunks of {rows} rows were asked for; a chunk takes at least one")
    return [(start, min(start + rows, N)) for start in range(0, N, rows)]


def check_chunk(table: RowTable, start: int, stop: int) -> ChunkCheck:
    """Look at a chunk for the first time; refuse NaN and infinity."""
    E = table.read(start, stop)
    refuse_non_finite(E, f"{table.name}, counted from row {start},")
    heard = np.asarray(E.any(axis=1))
    if not heard.all():
        E = E[heard]
    return ChunkCheck(heard, unit_rows(E) is E)


def assemble(
    table: RowTable, bounds: list[tuple[int, int]], checks: Iterable[ChunkCheck]
) -> Chunks:
    """The source, from the check of each of its chunks."""
    masks, units = zip(*checks, strict=True)
    spans = tuple(ChunkSpan(*bound, unit) for bound, unit in zip(bounds, units, strict=True))
    return Chunks(table, spans, np.concatenate(masks), table.dtype)


def _work_on_marked(work: Work, E: Float, chosen: Mask, *notes: Notes) -> ScanResult:
    return work(E[chosen], *(note[chosen] for note in notes))

"""Where the rows are: passes over blocks of rows, with small states that add up.

Calibration never asks for all rows at once. It asks for passes: a function is shown every block of
rows together with the numbers noted for those rows, and answers with

    new numbers for each of the rows,   and   sums over the rows.

The former are put in order, the latter are added in float64; nothing else is ever held. An array in
memory is the simplest source; files larger than memory and a cluster are others, with the same passes
(:mod:`prism_audio.out_of_core`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prism_audio.geometry.products import Float, row_blocks
from prism_audio.geometry.threads import side_by_side

Notes = NDArray[Any]


class ScanResult(NamedTuple):
    """What a pass leaves: numbers for every row, each (N, ...), and sums over all rows."""

    rows: tuple[Notes, ...] = ()
    sums: tuple[Notes, ...] = ()


# Shown a block of rows (n, d) and the notes of those rows, each (n, ...).
Work = Callable[..., ScanResult]


@runtime_checkable
class RowSource(Protocol):
    """Unit rows (N, d) somewhere.

    Attributes
    ----------
    shape : (int, int)
        N and d.
    dtype : dtype
        The float type in which blocks are shown.
    heard : (M,) array of bool
        Of the M rows that were given, those that have a direction; the other M - N (silence) are
        in no pass.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def heard(self) -> NDArray[np.bool_]: ...

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        """One pass over all rows; ``notes`` are arrays (N, ...) that hold something of every row."""
        ...

    def astype(self, dtype: Any) -> RowSource:
        """The same rows, shown in another float type."""
        ...

    def only(self, chosen: NDArray[np.bool_]) -> RowSource:
        """The rows that are marked, in the same order."""
        ...


class InMemory:
    """Rows of an array, which is read only."""

    def __init__(self, E: Float, heard: NDArray[np.bool_] | None = None) -> None:
        self._E = E
        self._heard = heard

    @property
    def heard(self) -> NDArray[np.bool_]:
        return np.ones(len(self._E), dtype=bool) if self._heard is None else self._heard

    @property
    def shape(self) -> tuple[int, int]:
        return self._E.shape[0], self._E.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._E.dtype

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        return scan_blocks(self._E, work, notes)

    def astype(self, dtype: Any) -> InMemory:
        return InMemory(self._E.astype(dtype, copy=False), self._heard)

    def only(self, chosen: NDArray[np.bool_]) -> InMemory:
        return InMemory(self._E[chosen])


def scan_blocks(E: Float, work: Work, notes: Iterable[Notes]) -> ScanResult:
    """The pass over an array, in blocks that stay in the cache."""
    notes = tuple(notes)
    return merge(
        side_by_side(
            lambda rows: work(E[rows], *(note[rows] for note in notes)), row_blocks(len(E))
        )
    )


def merge(answers: Iterable[ScanResult]) -> ScanResult:
    """One answer for neighbouring parts of the rows, given in order."""
    rows: list[tuple[Notes, ...]] = []
    sums: list[Notes] = []
    for answer in answers:
        rows.append(answer.rows)
        if sums:
            for total, part in zip(sums, answer.sums, strict=True):
                total += part
        else:
            sums = [np.array(part, dtype=np.float64) for part in answer.sums]
    return ScanResult(
        rows[0] if len(rows) == 1 else tuple(map(np.concatenate, zip(*rows, strict=True))),
        tuple(sums),
    )


def pick(source: RowSource, most: int, seed: int = 0) -> Float:
    """At most ``most`` rows of a source, drawn evenly, in their order."""
    N, _ = source.shape
    chosen = np.ones(N, dtype=bool)
    if most < N:
        chosen[:] = False
        chosen[np.random.default_rng(seed).choice(N, most, replace=False)] = True
    return marked(source, chosen)


def marked(source: RowSource, chosen: NDArray[np.bool_]) -> Float:
    """The rows of a source that are marked, in their order."""
    rows: Float = source.scan(_picked, chosen).rows[0]
    return rows


def _picked(E: Float, chosen: NDArray[np.bool_]) -> ScanResult:
    return ScanResult((E[chosen],))

"""Drift: noticing, without labels, that a stream no longer sounds like its calibration.

    r_t = e_t - mu_(y_t),     distance = |running mean of r| / spread

mu_c is the mean of the calibration rows of class c, spread the root mean square of their residuals.
Taking away the mean of the predicted class is what makes this a sign of the place: without it a
morning of nothing but sirens would count as another place. The running mean forgets within minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, class_means, unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float, Float64
from prism_audio.model.adapter import Adapter
from prism_audio.model.facts import Surroundings

# Seconds that the running mean remembers, and seconds before it is worth a look.
MEMORY, PATIENCE = 120.0, 60.0
# Measured with real sounds in real backgrounds: streams from the place of the calibration stay below
# 0.35, whatever few classes they consist of; another background behind the same sounds reaches 0.4,
# and sound that the calibration never saw, such as the bare background, lies above 1. So this is a
# coarse notice: it misses a change of place that moves the embeddings little.
LIMIT = 0.5
# A mean of fewer rows is noise; such a class uses the mean of all.
MEMBERS = 5
# Rows of a batch from which their mean tells of a place.
ENOUGH = 20


class Drifted(NamedTuple):
    """The stream has left what the calibration saw (``away``), or is back."""

    distance: float
    away: bool


def surroundings(E: Any, y: Labels, C: int) -> Surroundings:
    """How a calibration looked, small enough for an adapter's facts.

    ``E`` (N, d) are its rows and ``y`` (N,) their classes. The centres are float16: half a
    hundred-thousandth of a unit vector is far below any spread.
    """
    rows = unit_rows(as_rows(E, "E")[0])
    mean = rows.mean(axis=0, dtype=np.float64)
    means, members = class_means(rows, y, C, np.ones(len(rows), dtype=rows.dtype))
    kept = np.flatnonzero(members >= MEMBERS)
    centres = np.vstack([mean, means[kept]]).astype(np.float16)
    own = _places(C, kept.tolist())[y]
    square = 0.0
    for block in row_blocks(len(rows)):
        residual = rows[block] - centres[own[block]]
        square += float(np.vdot(residual, residual))
    return Surroundings(
        spread=round((square / len(rows)) ** 0.5, 5),
        classes=tuple(kept.tolist()),
        centres=centres,
    )


def batch_distance(adapter: Adapter, E: Any, y: Labels) -> float | None:
    """How far rows ``E`` (N, d) of classes ``y`` lie from the calibration, in its spreads.

    None where the adapter does not tell, or where the rows are too few for a mean to say anything.
    """
    drift = Drift.of(adapter, 1.0)
    if drift is None or len(y) < ENOUGH:
        return None
    return drift.distance_of(unit_rows(as_rows(E, "E")[0]), y)


class Drift:
    """The running mean of a stream's residuals.

    Parameters
    ----------
    centres : (C, d) array
        Where the rows of every class lay at calibration.
    spread : float
        How far they lay from there.
    hop : float
        Seconds from one row of the stream to the next.
    """

    def __init__(self, centres: Float64, spread: float, hop: float) -> None:
        self._centres, self._spread = centres, spread
        self._memory, self._patience = max(2.0, MEMORY / hop), max(2.0, PATIENCE / hop)
        self._mean, self._seen = np.zeros(centres.shape[1]), 0
        self._away = False

    @classmethod
    def of(cls, adapter: Adapter, hop: float) -> Drift | None:
        """For the calibration behind an adapter; None where the adapter does not tell of it."""
        known = adapter.facts.surroundings
        if known is None or not known.spread > 0:
            return None
        places = _places(len(adapter.labels), known.classes)
        return cls(known.centres.astype(np.float64)[places], known.spread, hop)

    @property
    def distance(self) -> float:
        """Length of the running mean in units of the spread."""
        return float(np.linalg.norm(self._mean) / self._spread)

    def distance_of(self, rows: Float, y: Labels) -> float:
        """The same for unit rows (N, d) of classes ``y`` all at once."""
        mean = rows.mean(axis=0, dtype=np.float64) - self._centres[y].mean(axis=0)
        return float(np.linalg.norm(mean) / self._spread)

    def add(self, embedding: Float, index: int) -> Drifted | None:
        """Take in a unit row and its class; says so when the stream leaves, or comes back."""
        self._seen += 1
        self._mean += (embedding - self._centres[index] - self._mean) / min(
            self._seen, self._memory
        )
        # It must come well below the limit to count as back, or it would flicker.
        limit = 0.8 * LIMIT if self._away else LIMIT
        if self._seen < self._patience or (self.distance > limit) == self._away:
            return None
        self._away = not self._away
        return Drifted(self.distance, self._away)


def _places(C: int, kept: Sequence[int]) -> Labels:
    """For every class the row of its centre; 0, the mean of all, where it has none."""
    places = np.zeros(C, dtype=np.intp)
    places[list(kept)] = np.arange(1, len(kept) + 1)
    return places

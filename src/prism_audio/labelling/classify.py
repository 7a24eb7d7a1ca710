"""Label a batch: a row for every clip, what zero-shot said beside what the adapter says.

>>> rows = classify(batch, adapter)                        # doctest: +SKIP
>>> rows[0].label, rows[0].score                           # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism_audio.labelling.batch import Batch
from prism_audio.labelling.labeller import UNKNOWN, Answer, Labeller
from prism_audio.labelling.wall_clock import time_of
from prism_audio.model.adapter import Adapter

# Columns of a table, in their order.
COLUMNS = (
    "file", "start", "end", "zero_shot", "zero_shot_score", "label", "score", "runner_up", "margin",
    "probability", "time", "best", "conviction",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Row(Answer):
    """The answer for one row of a batch, and where that lies.

    Attributes
    ----------
    file : str
        The recording.
    start, end : float or None
        Where in it, in seconds; None where that is not known.
    time : str or None
        When that was, in ISO 8601; None where neither its name nor its comment says so.
    """

    file: str
    start: float | None
    end: float | None
    time: str | None = None

    def columns(self, top: int = 0) -> dict[str, Any]:
        """Name and value of every column of a table, with columns for the ``top`` best classes."""
        cells = {name: getattr(self, name) for name in COLUMNS}
        for place, (label, score) in enumerate(self.top[:top], start=1):
            cells[f"top_{place}"], cells[f"top_{place}_score"] = label, score
        return cells


def classify(
    batch: Batch, adapter: Adapter, *, threshold: float | None = None, top: int = 0
) -> list[Row]:
    """Label every row of a batch.

    Parameters
    ----------
    batch : Batch
        The embeddings and where they came from.
    adapter : Adapter
        What labels them; ``Adapter.zero_shot`` for plain zero-shot.
    threshold : float, optional
        The least cosine that convinces; by default the adapter's own, and where it has none every
        row gets its best class.
    top : int
        Keep this many of the best classes for every row, at least one.
    """
    answers = Labeller(adapter, threshold=threshold).answer(batch.embeddings, top)
    return [
        Row(
            **vars(answer.rounded()),
            file=file,
            start=_seconds(start),
            end=_seconds(end),
            time=time_of(file, float(np.nan_to_num(start))),
        )
        for answer, file, start, end in zip(
            answers, batch.files, batch.start, batch.end, strict=True
        )
    ]


@dataclass(frozen=True)
class BatchSummary:
    """What a batch became: how many labels changed, and the counts of the classes.

    ``before`` counts what zero-shot said, ``after`` what the adapter says, ``unknown`` included.
    """

    rows: int
    changed: int
    unknown: int
    before: Counter[str]
    after: Counter[str]


def summarise(rows: list[Row]) -> BatchSummary:
    """Count a result."""
    return BatchSummary(
        len(rows),
        sum(row.best != row.zero_shot for row in rows),
        sum(row.label == UNKNOWN and not row.convinced for row in rows),
        Counter(row.zero_shot for row in rows),
        Counter(row.label for row in rows),
    )


def _seconds(value: float) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None

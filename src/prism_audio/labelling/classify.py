"""Label a batch: a row for every clip, what zero-shot said beside what the adapter says.

>>> rows = classify(batch, adapter)                        # doctest: +SKIP
>>> rows[0].label, rows[0].score                           # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, Mask, unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float
from prism_audio.labelling.batch import Batch
from prism_audio.model.adapter import Adapter

UNKNOWN = "unknown"


class Row(NamedTuple):
    """One row of the result; scores are cosines.

    Attributes
    ----------
    file : str
        The recording.
    start, end : float or None
        Where in it, in seconds.
    zero_shot, zero_shot_score : str, float
        What the encoder alone says.
    label, score : str, float
        What the adapter says; ``unknown`` where the best score is below the threshold.
    runner_up, margin : str or None, float or None
        The second best class and how far it is behind; None where there is one class.
    top : tuple of (str, float)
        The best classes with their scores, as many as were asked for.
    """

    file: str
    start: float | None
    end: float | None
    zero_shot: str
    zero_shot_score: float
    label: str
    score: float
    runner_up: str | None
    margin: float | None
    top: tuple[tuple[str, float], ...] = ()

    @property
    def best(self) -> str:
        """The best class, also where it does not convince."""
        return self.top[0][0]

    def columns(self, top: int = 0) -> dict[str, Any]:
        """Name and value of every column of a table, with columns for the ``top`` best classes."""
        cells = self._asdict()
        ranked = cells.pop("top")
        for place, (label, score) in enumerate(ranked[:top], start=1):
            cells[f"top_{place}"], cells[f"top_{place}_score"] = label, score
        return cells


class Judgement(NamedTuple):
    """What an adapter says of N rows.

    ``order`` (N, k) holds the best classes, best first, and ``scores`` (N, k) their cosines.
    """

    order: np.ndarray
    scores: np.ndarray


def judge(adapter: Adapter, E: Any, k: int = 2) -> Judgement:
    """The ``k`` best classes of every embedding and their cosines.

    The first is ``adapter.predict``, the folded head's answer, so that every way to a label gives
    the same one.
    """
    rows, _ = as_rows(E, "E", adapter.dim)
    k = min(k, len(adapter.labels))
    order = np.empty((len(rows), k), dtype=np.intp)
    scores = np.empty((len(rows), k))
    for block in row_blocks(len(rows)):
        S = adapter.scores(rows[block])
        first = adapter.predict(rows[block])[:, None]
        values = np.take_along_axis(S, first, axis=1)
        np.put_along_axis(S, first, np.inf, axis=1)  # rounding must not push it from its place
        best = np.argsort(-S, axis=1, kind="stable")[:, :k]
        order[block] = best
        scores[block] = np.take_along_axis(S, best, axis=1)
        scores[block, :1] = values
    return Judgement(order, scores)


class Doubt:
    """Whether answers convince, or are ``unknown``.

    Parameters
    ----------
    adapter : Adapter
        What answered.
    least : float, optional
        The least cosine that convinces. By default the adapter decides, on cosines before and after
        its correction (:mod:`prism_audio.geometry.confidence`); one that has no threshold of its own
        is always believed.
    """

    def __init__(self, adapter: Adapter, least: float | None = None) -> None:
        own = adapter.facts.get("unknown_threshold")
        self._threshold = own if least is None else least
        self._share = adapter.facts.get("zero_shot_share", 0.0) if least is None else 0.0
        self._prototypes = adapter.prototypes
        if self._threshold is not None and UNKNOWN in adapter.labels:
            raise InputError(
                f"a class is called {UNKNOWN!r}, which is also the answer for what no class fits; "
                "word that class differently, or set no threshold"
            )

    def convinced(self, E: Float, y: Labels, scores: Float) -> Mask:
        """For embeddings ``E`` (N, d), their answers ``y`` and the cosines of those, (N,) each."""
        if self._threshold is None:
            return np.ones(len(y), dtype=bool)
        before = np.einsum("ij,ij->i", unit_rows(E), self._prototypes[y].astype(E.dtype))
        conviction = (1 - self._share) * scores + self._share * before
        return np.asarray(conviction >= self._threshold)


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
        Keep this many of the best classes for every row.
    """
    doubt = Doubt(adapter, threshold)
    names = adapter.labels
    plain = judge(Adapter.zero_shot(adapter.prototypes, names), batch.embeddings, 1)
    said = judge(adapter, batch.embeddings, max(2, top))
    embeddings, _ = as_rows(batch.embeddings, "E", adapter.dim)
    convinced = doubt.convinced(embeddings, said.order[:, 0], said.scores[:, 0])
    rows = []
    for i, file in enumerate(batch.files):
        best = [names[c] for c in said.order[i]]
        scores = [_short(value) for value in said.scores[i]]
        two = len(best) > 1
        rows.append(
            Row(
                file,
                _seconds(batch.start[i]),
                _seconds(batch.end[i]),
                names[plain.order[i, 0]],
                _short(plain.scores[i, 0]),
                best[0] if convinced[i] else UNKNOWN,
                scores[0],
                best[1] if two else None,
                _short(max(said.scores[i, 0] - said.scores[i, 1], 0.0)) if two else None,
                tuple(zip(best, scores, strict=True))[: max(1, top)],
            )
        )
    return rows


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
        sum(row.label == UNKNOWN != row.best for row in rows),
        Counter(row.zero_shot for row in rows),
        Counter(row.label for row in rows),
    )


def _short(value: float) -> float:
    return round(float(value), 6)


def _seconds(value: float) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None

"""The one labeller: embeddings in, answers out, for files, streams and the service.

    cos_1 = [u | 1] W T^T / |[u | 1] W|        after the correction of the adapter
    cos_0 = u T^T                              zero-shot: what the encoder alone says
    probability = softmax(cos_1 / temperature)

>>> labeller = Labeller(adapter)                           # doctest: +SKIP
>>> labeller.answer_one(embedding).label                   # doctest: +SKIP
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.confidence import probabilities
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, unit_rows
from prism_audio.io.arrays import as_rows, to_numpy
from prism_audio.io.types import Float
from prism_audio.model.adapter import LONG, SHORT, Adapter

# The label where no class convinces.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Answer:
    """What an adapter says of one embedding; scores are cosines.

    Attributes
    ----------
    label : str
        The best class, or ``unknown`` where it does not convince.
    best, index : str, int
        The best class, also where it does not convince, and its place among the labels.
    score : float
        Its cosine after the correction.
    probability : float or None
        How likely it is, by the temperature of the calibration; None where there was none.
    runner_up, margin : str or None, float or None
        The second best class and how far it is behind; None where there is one class.
    zero_shot, zero_shot_score : str, float
        What the encoder alone says.
    convinced : bool
        Whether the best class is good enough to be the label.
    top : tuple of (str, float)
        The best classes with their scores, as many as were asked for.
    """

    label: str
    best: str
    index: int
    score: float
    probability: float | None
    runner_up: str | None
    margin: float | None
    zero_shot: str
    zero_shot_score: float
    convinced: bool
    top: tuple[tuple[str, float], ...]

    def rounded(self) -> Answer:
        """The same for people and files: cosines to six places, the probability to four."""
        return replace(
            self,
            score=round(self.score, 6),
            probability=None if self.probability is None else round(self.probability, 4),
            margin=None if self.margin is None else round(self.margin, 6),
            zero_shot_score=round(self.zero_shot_score, 6),
            top=tuple((label, round(score, 6)) for label, score in self.top),
        )


class Labeller:
    """Labels embeddings by one adapter.

    Parameters
    ----------
    adapter : Adapter
        What corrects and labels; ``Adapter.zero_shot`` for plain zero-shot.
    threshold : float, optional
        The least cosine that convinces. By default the adapter decides, on cosines before and after
        its correction (:mod:`prism_audio.geometry.confidence`); one that has no threshold of its own
        is always believed.
    """

    def __init__(self, adapter: Adapter, *, threshold: float | None = None) -> None:
        facts = adapter.facts
        self.adapter = adapter
        self.threshold = facts.unknown_threshold if threshold is None else threshold
        if self.threshold is not None and UNKNOWN in adapter.labels:
            raise InputError(
                f"a class is called {UNKNOWN!r}, which is also the answer for what no class fits; "
                "word that class differently, or set no threshold"
            )
        self._share = (facts.zero_shot_share or 0.0) if threshold is None else 0.0
        temperature = facts.temperature or 0.0
        self._temperature = temperature if temperature > 0 else None
        self._text = unit_rows(adapter.prototypes)

    def answer(self, E: Any, top: int = 1) -> list[Answer]:
        """An answer for every row of ``E`` (N, d), with its ``top`` best classes."""
        rows, _ = as_rows(E, "E", self.adapter.dim)
        text = self._text.T.astype(rows.dtype, copy=False)
        answers: list[Answer] = []
        for block in row_blocks(len(rows)):
            S, y = self.adapter.scores(rows[block]), self.adapter.predict(rows[block])
            answers += self._read(S, y, unit_rows(rows[block]) @ text, top)
        return answers

    def answer_one(self, e: Any, top: int = 1) -> Answer:
        """The answer for one embedding (d,): the fast path of a stream and of a request."""
        A, b = self.adapter.head
        if type(e) is np.ndarray and e.dtype == A.dtype and e.shape == A.shape[:1]:
            norm = math.sqrt(e.dot(e))
            if SHORT < norm < LONG:
                W = self.adapter.W
                corrected = e.dot(W[:-1])
                corrected += norm * W[-1]
                S = e.dot(A)
                S += norm * b  # as in Adapter.predict_one, so that the label is the same
                y = S.argmax(keepdims=True)
                S /= math.sqrt(corrected.dot(corrected)) or 1.0
                return self._read(S.clip(-1, 1)[None], y, (self._text.dot(e) / norm)[None], top)[0]
        v = np.asarray(to_numpy(e)[0])
        if v.ndim != 1:
            raise InputError(f"wanted one embedding of shape ({self.adapter.dim},), got {v.shape}")
        return self.answer(v[None], top)[0]

    def _read(self, S: Float, y: Labels, S_0: Float, top: int) -> list[Answer]:
        """Answers from cosines (n, C) after the correction and before it, and the best classes (n,)."""
        n, names, each = len(S), self.adapter.labels, np.arange(len(S))
        order = _ranking(S, y, max(2, top))
        ranked = S[each[:, None], order].tolist()
        before = S_0[each, y]
        first = S_0.argmax(axis=1)
        convinced = [True] * n
        if self.threshold is not None:
            conviction = (1 - self._share) * S[each, y] + self._share * before
            convinced = (conviction >= self.threshold).tolist()
        sure: list[float | None] = [None] * n
        if self._temperature is not None:
            sure = probabilities(S, self._temperature)[each, y].tolist()
        return [
            Answer(
                label=names[best[0]] if convinced[i] else UNKNOWN,
                best=names[best[0]],
                index=best[0],
                score=score[0],
                probability=sure[i],
                runner_up=names[best[1]] if len(best) > 1 else None,
                margin=max(score[0] - score[1], 0.0) if len(best) > 1 else None,
                zero_shot=names[first[i]],
                zero_shot_score=float(S_0[i, first[i]]),
                convinced=convinced[i],
                top=tuple((names[c], s) for c, s in zip(best, score, strict=True))[: max(1, top)],
            )
            for i, (best, score) in enumerate(zip(order.tolist(), ranked, strict=True))
        ]


def _ranking(S: Float, y: Labels, most: int) -> Labels:
    """The ``most`` best classes of every row (n, most), first ``y``: rounding must not move it."""
    S = S.copy()
    S[np.arange(len(S)), y] = np.inf
    return np.argsort(-S, axis=1, kind="stable")[:, :most]

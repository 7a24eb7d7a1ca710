"""The one labeller: embeddings in, answers out, for files, streams and the service.

    cos_1 = [u | 1] W T^T / |[u | 1] W|        after the correction of the adapter
    cos_0 = u T^T                              zero-shot: what the encoder alone says
    probability = softmax(cos_1 / temperature)

>>> labeller = Labeller(adapter)                           # doctest: +SKIP
>>> labeller.answer_one(embedding).label                   # doctest: +SKIP
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.sphere import Labels, unit_rows
from prism_audio.io.arrays import as_rows, refuse_non_finite, to_numpy
from prism_audio.io.types import Float, Float64
from prism_audio.model.adapter import LONG, SHORT, Adapter

# The label where no class convinces, where a background word is the best, and of digital silence.
UNKNOWN, BACKGROUND, SILENCE = "unknown", "background", "silence"
# Rows at a time, so that temporaries stay small.
BLOCK_ROWS = 2048


@dataclass(frozen=True)
class Answer:
    """What an adapter says of one embedding; scores are cosines.

    Attributes
    ----------
    label : str
        The best class, ``unknown`` where it does not convince, ``background`` where it is a
        background word, or ``silence`` for a row of zeros: digital silence is near to no class.
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
    conviction : float
        What is compared with the threshold of the best class: cosines before and after, weighed.
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
    conviction: float
    top: tuple[tuple[str, float], ...]

    def rounded(self) -> Answer:
        """The same for people and files: cosines to six places, the probability to four."""
        return replace(
            self,
            score=round(self.score, 6),
            probability=None if self.probability is None else round(self.probability, 4),
            margin=None if self.margin is None else round(self.margin, 6),
            zero_shot_score=round(self.zero_shot_score, 6),
            conviction=round(self.conviction, 6),
            top=tuple((label, round(score, 6)) for label, score in self.top),
        )


class Labeller:
    """Labels embeddings by one adapter.

    Parameters
    ----------
    adapter : Adapter
        What corrects and labels; ``Adapter.zero_shot`` for plain zero-shot.
    threshold : float, optional
        The least cosine that convinces, whatever the label. By default the adapter decides, on cosines
        before and after its correction (:mod:`prism_audio.geometry.confidence`), label by label where
        it has thresholds of its own; one that has none at all is always believed.
    """

    def __init__(self, adapter: Adapter, *, threshold: float | None = None) -> None:
        facts = adapter.facts
        self.adapter, self.threshold = adapter, threshold
        self.thresholds = (
            label_thresholds(adapter)
            if threshold is None
            else np.full(len(adapter.labels), threshold)
        )
        if np.isfinite(self.thresholds).any() and UNKNOWN in adapter.labels:
            raise InputError(
                f"a class is called {UNKNOWN!r}, which is also the answer for what no class fits; "
                "word that class differently, or set no threshold"
            )
        if facts.background and BACKGROUND in adapter.labels:
            raise InputError(
                f"a class is called {BACKGROUND!r}, which is also the answer for background words; "
                "word that class differently"
            )
        self._share = (facts.zero_shot_share or 0.0) if threshold is None else 0.0
        temperature = facts.temperature or 0.0
        self._temperature = temperature if temperature > 0 else None
        self._labels = len(adapter.labels) - (facts.background or 0)
        self._A, self._b = adapter.head
        self._W, self._text = adapter.W, adapter.zero_shot_head

    def answer(self, E: Any, top: int = 1) -> list[Answer]:
        """An answer for every row of ``E`` (N, d), with its ``top`` best classes."""
        d = len(self._A)
        # Rows from an encoder or a store need no other check than that of their lengths, below.
        plain = type(E) is np.ndarray and E.dtype == self._A.dtype and E.shape[1:] == (d,)
        rows: Float = E if plain and len(E) else as_rows(E, "E", d)[0]
        A, b, W, text = (
            x.astype(rows.dtype, copy=False) for x in (self._A, self._b, self._W, self._text)
        )
        answers: list[Answer] = []
        for start in range(0, len(rows), BLOCK_ROWS):
            X = rows[start : start + BLOCK_ROWS]
            norms = np.linalg.norm(X, axis=1, keepdims=True)
            silent: list[int] = []
            if not ((norms > SHORT) & (norms < LONG)).all():  # false for NaN, too
                refuse_non_finite(rows, "E")
                X, norms = unit_rows(X), np.ones_like(norms)
                silent = np.flatnonzero(~X.any(axis=1)).tolist()
            corrected = X @ W[:-1]
            corrected += norms * W[-1]
            lengths = np.linalg.norm(corrected, axis=1, keepdims=True)
            S = X @ A
            S += norms * b  # as in Adapter.predict, so that the label is the same
            y = S.argmax(axis=1)
            S /= np.where(lengths > 0, lengths, 1)
            answers += self._read(S.clip(-1, 1, out=S), y, X @ text / norms, top)
            for i in silent:
                answers[start + i] = self._silence(answers[start + i])
        return answers

    def answer_one(self, e: Any, top: int = 1) -> Answer:
        """The answer for one embedding (d,), within a tenth of a millisecond."""
        v = e if type(e) is np.ndarray else np.asarray(to_numpy(e)[0])
        if v.ndim != 1:
            raise InputError(f"wanted one embedding of shape ({len(self._A)},), got {v.shape}")
        return self.answer(v[None], top)[0]

    def _read(self, S: Float, y: Labels, S_0: Float, top: int) -> list[Answer]:
        """Answers from cosines (n, C) after the correction and before it, and the best classes (n,)."""
        n, names, each = len(S), self.adapter.labels, np.arange(len(S))
        order = _ranking(S, y, max(2, top))
        ranked = S[each[:, None], order].tolist()
        before = S_0[each, y]
        first = S_0.argmax(axis=1)
        conviction = (1 - self._share) * S[each, y] + self._share * before
        convinced = (conviction >= self.thresholds[y]).tolist()
        reported = (y < self._labels).tolist()
        sure: list[float | None] = [None] * n
        if self._temperature is not None:
            away = (S - S[each, y][:, None]).astype(np.float64) / self._temperature
            sure = (1 / np.exp(away).sum(axis=1)).tolist()  # the softmax of the best class
        return [
            Answer(
                label=self._label(best[0], convinced[i]),
                best=names[best[0]],
                index=best[0],
                score=score[0],
                probability=sure[i],
                runner_up=names[best[1]] if len(best) > 1 else None,
                margin=max(score[0] - score[1], 0.0) if len(best) > 1 else None,
                zero_shot=names[first[i]],
                zero_shot_score=float(S_0[i, first[i]]),
                convinced=convinced[i] and reported[i],
                conviction=float(conviction[i]),
                top=tuple((names[c], s) for c, s in zip(best, score, strict=True))[: max(1, top)],
            )
            for i, (best, score) in enumerate(zip(order.tolist(), ranked, strict=True))
        ]

    def _silence(self, answer: Answer) -> Answer:
        """The answer for digital silence; a class of that name is the best then, else none is."""
        named = SILENCE in self.adapter.labels
        best = SILENCE if named else answer.best
        return replace(
            answer,
            label=SILENCE,
            best=best,
            index=self.adapter.labels.index(best),
            score=0.0,
            probability=None,
            margin=None if answer.margin is None else 0.0,
            zero_shot_score=0.0,
            convinced=named,
            conviction=0.0,
            top=tuple((label, 0.0) for label, _ in answer.top),
        )

    def _label(self, best: int, convinced: bool) -> str:
        if best >= self._labels:
            return BACKGROUND
        return self.adapter.labels[best] if convinced else UNKNOWN


def label_thresholds(adapter: Adapter) -> Float64:
    """The least conviction (C,) of every label: its own, else the adapter's, else minus infinity."""
    facts = adapter.facts
    common = -np.inf if facts.unknown_threshold is None else facts.unknown_threshold
    own = facts.label_thresholds or (None,) * len(adapter.labels)
    return np.array([common if value is None else value for value in own])


def _ranking(S: Float, y: Labels, most: int) -> Labels:
    """The ``most`` best classes of every row (n, most), first ``y``: rounding must not move it."""
    S = S.copy()
    S[np.arange(len(S)), y] = np.inf
    return np.argsort(-S, axis=1, kind="stable")[:, :most]

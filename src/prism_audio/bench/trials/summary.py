"""Scores of the transductive protocol: every method in every place at every level of noise.

A *level* is an SNR, ``mixed`` or ``clean``. There is one clean condition; it counts once in every
place, so that the mean over all cells weighs all levels alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.experiment.array_files import GIVEN
from prism_audio.bench.experiment.conditions import CLEAN, MIXED
from prism_audio.bench.trials.runner import JobResult
from prism_audio.bench.trials.scores import (
    Interval,
    accuracy,
    class_accuracy,
    macro_f1,
    paired_bootstrap,
)
from prism_audio.io.types import Float64

Level = float | str
Cell = tuple[str, Level]
Score = Callable[[NDArray[np.integer], NDArray[np.integer]], float]

BASELINE = "zero_shot"


class TransductiveSummary:
    """Scores of methods by place and level, from the transductive answers on untreated sound.

    ``truth`` (N,) are the classes of all clips; clips with one number in ``sources`` (N,) were cut from
    one recording.
    """

    def __init__(
        self,
        answers: Iterable[JobResult],
        truth: NDArray[np.int64],
        sources: NDArray[np.int64],
        classes: int,
    ) -> None:
        self.truth, self.sources, self.classes = truth, sources, classes
        self._labels: dict[str, dict[Cell, NDArray[np.int16]]] = {}
        for answer in answers:
            if answer.case.protocol == "transductive" and not answer.tested.front:
                cell = (answer.tested.background, answer.tested.snr)
                self._labels.setdefault(answer.method, {})[cell] = answer.labels
        cells = {cell for by_cell in self._labels.values() for cell in by_cell}
        self.methods = list(self._labels)
        self.places = sorted({place for place, _ in cells} - {CLEAN}) or [CLEAN]
        snrs = sorted({level for _, level in cells if not isinstance(level, str)})
        named = [
            level for level in (CLEAN, MIXED, GIVEN) if any(cell[1] == level for cell in cells)
        ]
        self.levels: list[Level] = [*snrs, *named]
        self.cells: list[Cell] = [(place, level) for place in self.places for level in self.levels]

    def labels(self, method: str, place: str, level: Level) -> NDArray[np.int16]:
        """Labels in a cell; an oracle without background gives those of zero-shot."""
        cell = (CLEAN, CLEAN) if level == CLEAN else (place, level)
        labels = self._labels[method].get(cell)
        return self._labels[BASELINE][cell] if labels is None else labels

    def score(self, method: str, place: str, level: Level, score: Score = accuracy) -> float:
        """Accuracy, or another score, in a cell."""
        return score(self.truth, self.labels(method, place, level))

    def mean(
        self,
        method: str,
        score: Score = accuracy,
        places: Sequence[str] = (),
        levels: Sequence[Level] = (),
    ) -> float:
        """Mean over cells: all of them, or those of some places and levels."""
        values = [
            self.score(method, place, level, score)
            for place in places or self.places
            for level in levels or self.levels
        ]
        return float(np.mean(values))

    def f1(self, method: str) -> float:
        """Macro-F1, mean over all cells."""
        return self.mean(method, macro_f1)

    def clip_scores(self, method: str, cells: Sequence[Cell] = ()) -> Float64:
        """For every clip (N,) the share of cells (all, if none are named) where its label is right."""
        right = [self.labels(method, *cell) == self.truth for cell in cells or self.cells]
        return np.asarray(np.mean(right, axis=0))

    def difference(self, one: str, other: str, cells: Sequence[Cell] = ()) -> Interval:
        """By how much one method is ahead of another, with its interval, as fractions."""
        ahead = self.clip_scores(one, cells) - self.clip_scores(other, cells)
        return paired_bootstrap(ahead, self.sources)

    def class_scores(self, method: str, places: Sequence[str] = ()) -> Float64:
        """Accuracy (C,) within each class, mean over the noisy levels of some or all places."""
        noisy = [level for level in self.levels if level != CLEAN] or self.levels
        scores = [
            class_accuracy(self.truth, self.labels(method, place, level), self.classes)
            for place in places or self.places
            for level in noisy
        ]
        return np.asarray(np.mean(scores, axis=0))

    def class_changes(self, method: str) -> Float64:
        """Change of accuracy (C, places) from zero-shot, within each class in each place."""
        changes = [
            self.class_scores(method, [place]) - self.class_scores(BASELINE, [place])
            for place in self.places
        ]
        return np.column_stack(changes)


def level_name(level: Level) -> str:
    """For headings."""
    return level if isinstance(level, str) else f"{level:g} dB"

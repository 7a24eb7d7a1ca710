"""A listening campaign: what the labels of picked clips say of an adapter at a place.

>>> judged = Campaign(population, rows, truth, probability)      # doctest: +SKIP
>>> judged.adapted, judged.difference.confidence                 # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.encoders.prompts import clean_label
from prism_audio.errors import InputError
from prism_audio.evaluation.clip_scores import Interval
from prism_audio.evaluation.difference import Difference, difference
from prism_audio.evaluation.odds import evidence, find_threshold, fit_shift, fit_slope
from prism_audio.evaluation.population import OTHER, Population, survey
from prism_audio.evaluation.sampling import Sample, accuracy
from prism_audio.geometry.sphere import Labels
from prism_audio.io.text import counted
from prism_audio.io.types import Float64
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.labelling.labeller import BACKGROUND, UNKNOWN
from prism_audio.labelling.sheet import OTHER as NONE_OF_THEM
from prism_audio.labelling.sheet import SheetRow, class_of, read_sheet
from prism_audio.model.adapter import Adapter
from prism_audio.store.store import Store

# What a person may write of a clip that is none of the classes.
NONE = (NONE_OF_THEM, UNKNOWN, BACKGROUND)


class LabelPrecision(NamedTuple):
    """How often an answer is right where it is reported.

    Attributes
    ----------
    label : int
        The class.
    answers, listened : int
        Clips of the place that are reported as this class, and those of them that were listened to.
    precision : Interval
        The part of them that is right; NaN where none was listened to.
    threshold, reached : float or None
        The least score that gives the wanted precision, and the part of the clips with this answer
        that reach it; None where none does, or none was wanted.
    """

    label: int
    answers: int
    listened: int
    precision: Interval
    threshold: float | None
    reached: float | None


@dataclass(frozen=True, eq=False)
class Campaign:
    """Picked clips with what a person heard in them.

    Attributes
    ----------
    population : Population
        What the adapter says of all clips of the place.
    rows : (n,) array
        The clips that were listened to.
    truth : (n,) array
        What they are: classes, or OTHER for none of them.
    inclusion : (n,) array
        The probabilities with which they were picked.
    """

    population: Population
    rows: NDArray[np.intp]
    truth: Labels
    inclusion: Float64

    @cached_property
    def adapted(self) -> Interval:
        """The accuracy of the adapter at this place."""
        population = self.population
        sample = Sample(self.rows, self._right, self.inclusion)
        return accuracy(population.probability, sample, population.answer, self._slope)

    @cached_property
    def zero_shot(self) -> Interval:
        """The accuracy of zero-shot at this place."""
        population = self.population
        right = population.zero_shot[self.rows] == self.truth
        sample = Sample(self.rows, right, self.inclusion)
        return accuracy(population.zero_shot_probability, sample, population.answer)

    @cached_property
    def difference(self) -> Difference:
        """How much better the adapter is than zero-shot."""
        everywhere = self.population.answer != self.population.zero_shot
        differs = everywhere[self.rows]
        first = self.population.zero_shot[self.rows] == self.truth
        gains = (self._right.astype(float) - first)[differs]
        part = float(everywhere.mean())
        return difference(part, gains, self.inclusion[differs], len(self.rows))

    @property
    def verdict(self) -> str:
        """Whether the adapter is better than zero-shot, in a sentence."""
        (_, low, high), sure, more = self.difference
        if low == high:
            return "the adapter and zero-shot give the same answers"
        better, sure = ("better", sure) if sure >= 0.5 else ("worse", 1 - sure)
        if more == 0:
            return f"the adapter is {better} than zero-shot ({100 * sure:.1f} % sure)"
        text = f"not settled: the adapter is {better} than zero-shot with a chance of {100 * sure:.0f} %"
        return text + (f"; about {counted(more, 'more label')} would settle it" if more else "")

    def precisions(self, wanted: float | None = None) -> list[LabelPrecision]:
        """The precision of every class that is reported, most frequent first."""
        population = self.population
        reported = np.flatnonzero(np.bincount(population.answer[population.convinced]))
        table = [self._precision(int(label), wanted) for label in reported]
        return sorted(table, key=lambda row: -row.answers)

    def threshold(self, wanted: float) -> tuple[float, float] | None:
        """One least score for all classes that gives the ``wanted`` precision, and who reaches it."""
        score = self.population.score
        return find_threshold(wanted, self._evidence, score, self._shift, self._slope)

    @cached_property
    def _right(self) -> NDArray[np.bool_]:
        return np.asarray(self.population.answer[self.rows] == self.truth)

    @cached_property
    def _evidence(self) -> Float64:
        return evidence(self.population.probability)

    @cached_property
    def _slope(self) -> float:
        return fit_slope(self._evidence[self.rows], self._right.astype(float))

    @cached_property
    def _shift(self) -> float:
        return fit_shift(self._evidence[self.rows], self._right.astype(float), self._slope)

    def _precision(self, label: int, wanted: float | None) -> LabelPrecision:
        population = self.population
        answered = population.answer == label
        reported = answered & population.convinced
        heard = reported[self.rows]
        # Rows among the reported clips alone.
        rows = (np.cumsum(reported) - 1)[self.rows[heard]]
        sample = Sample(rows, self._right[heard], self.inclusion[heard])
        value = accuracy(population.probability[reported], sample, slope=self._slope)
        limit = None
        if wanted is not None:
            x, own = self._evidence, answered[self.rows]
            right = self._right[own].astype(float)
            c = fit_shift(x[self.rows[own]], right, self._slope, self._shift)
            limit = find_threshold(wanted, x[answered], population.score[answered], c, self._slope)
        threshold, reached = limit or (None, None)
        return LabelPrecision(label, int(reported.sum()), len(rows), value, threshold, reached)


def judge(store: Store, adapter: Adapter, labels: Path) -> tuple[Campaign, bool]:
    """The campaign of a sheet, and whether the sheet says how its clips were picked.

    Without that it is taken as a simple random sample. The probabilities of a sheet are for all of its
    clips; where a part of them was listened to, that part is taken as drawn at random from them.
    """
    about = store.settings
    refuse_other_encoder(adapter, about.fingerprint, about.encoder, "the adapter")
    sheet = read_sheet(labels)
    heard = [row for row in sheet if row.label]
    if not heard:
        raise InputError(f"{labels} has no label yet; fill in its column 'label'")
    rows = _find_rows(heard, store)
    if None in rows:
        lost = heard[rows.index(None)]
        raise InputError(
            f"{labels} names {lost.file} from {lost.start or 0} s, which {store.path} does not hold; "
            "give the store that the clips were picked from"
        )
    if len(set(rows)) < len(rows):
        raise InputError(f"{labels} has two lines for one clip; keep one of them")
    known = all(row.probability for row in sheet)
    part = len(heard) / len(sheet)
    inclusion = np.array([part * (row.probability or 0) for row in heard])
    if not known:
        inclusion = np.full(len(heard), len(heard) / len(store))
    truth = classes_of([row.label for row in heard], adapter)
    return Campaign(survey(store, adapter), np.array(rows, dtype=np.intp), truth, inclusion), known


def _find_rows(heard: Sequence[SheetRow], store: Store) -> list[int | None]:
    """The row of each line of a sheet: by path and start, or by the name where only one has it."""
    rows: dict[tuple[str, str], int] = {}
    names: dict[tuple[str, str], int | None] = {}
    for i, (path, start) in enumerate(zip(store.paths, store.start, strict=True)):
        rows[path, f"{start:.2f}"] = i
        name = (Path(path).name, f"{start:.2f}")
        names[name] = None if name in names else i
    keys = [(row.file, f"{row.start or 0:.2f}") for row in heard]
    return [rows.get(key, names.get((Path(key[0]).name, key[1]))) for key in keys]


def classes_of(labels: Sequence[str], adapter: Adapter) -> Labels:
    """The classes that people named; :data:`OTHER` for none of them and for background words."""
    names = {clean_label(name): i for i, name in enumerate(adapter.labels)}
    most = len(names) - (adapter.facts.background or 0)
    found = [len(names) if label in NONE else class_of(label, names) for label in labels]
    return np.array([c if c < most else OTHER for c in found], dtype=np.intp)

"""Thresholds a label: the least value at which what is reported reaches a wanted precision.

    t_c = the least t at which  (right answers of c with value >= t) / (answers of c with value >= t)
          is at least the precision that is wanted

Clips are ranked by their conviction, events by their strength. An event counts as right where a true
event of its label overlaps it: a threshold cannot mend its bounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from prism_audio.encoders.prompts import clean_label
from prism_audio.errors import InputError
from prism_audio.labelling.formats.base import TimedLabel
from prism_audio.model.adapter import Adapter


class Judged(NamedTuple):
    """An answer: its label, the value it is ranked by, and whether it is right."""

    label: str
    value: float
    right: bool


class LabelThreshold(NamedTuple):
    """The threshold of a label (None: none reaches the precision), and what it leaves.

    ``right`` of ``answers`` are right; with the threshold ``right_left`` of ``answers_left``.
    """

    label: str
    threshold: float | None
    answers: int
    right: int
    answers_left: int
    right_left: int


def find_thresholds(judged: Iterable[Judged], precision: float) -> list[LabelThreshold]:
    """The threshold of every label that was answered."""
    by_label: dict[str, list[Judged]] = {}
    for answer in judged:
        by_label.setdefault(answer.label, []).append(answer)
    result = []
    for label, answers in sorted(by_label.items()):
        ranked = sorted(answers, key=lambda answer: -answer.value)
        threshold, left, hits = None, 0, 0
        right = 0
        for count, answer in enumerate(ranked, start=1):
            right += answer.right
            last_of_ties = count == len(ranked) or ranked[count].value < answer.value
            if last_of_ties and right >= precision * count:
                threshold, left, hits = answer.value, count, right
        result.append(LabelThreshold(label, threshold, len(ranked), right, left, hits))
    return result


def judge_events(
    events: Sequence[tuple[TimedLabel, float]], truth: Sequence[TimedLabel]
) -> list[Judged]:
    """Events with their strengths, each right where a true event of its label overlaps it."""
    wanted: dict[tuple[str, str], list[TimedLabel]] = {}
    for event in truth:
        wanted.setdefault((event.file, event.label), []).append(event)
    return [
        Judged(
            event.label,
            strength,
            any(
                true.start < event.end and event.start < true.end
                for true in wanted.get((event.file, event.label), ())
            ),
        )
        for event, strength in events
    ]


def save_thresholds(
    path: str | os.PathLike[str], found: Sequence[LabelThreshold], *, of_events: bool
) -> None:
    """Put thresholds of events, or of clips, into an adapter's file, in place of those it has."""
    adapter = Adapter.load(path)
    known = {clean_label(row.label): row.threshold for row in found}
    names = [clean_label(label) for label in adapter.labels]
    if not known.keys() & set(names):
        raise InputError(
            f"{path} has none of the labels of the results, for example {next(iter(known), '-')!r}; "
            "name the adapter that made them"
        )
    values = tuple(
        None if known.get(name) is None else round(float(known[name] or 0.0), 6) for name in names
    )
    name = "label_onsets" if of_events else "label_thresholds"
    changes: dict[str, Any] = {name: values}
    replace(adapter, facts=replace(adapter.facts, **changes)).save(path)

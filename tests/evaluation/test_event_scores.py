"""Event-based and segment-based scores: worked examples, and the same numbers as sed_eval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from prism_audio.evaluation.event_scores import (
    Counts,
    add_up,
    count_events,
    count_segments,
    total,
)


class Span(NamedTuple):
    start: float
    end: float
    label: str


TRUTH = [Span(1.0, 3.0, "dog"), Span(5.0, 6.0, "cat")]


def test_an_event_counts_when_label_onset_and_offset_fit() -> None:
    exact = total(count_events(TRUTH, TRUTH).values())
    assert exact == Counts(2, 0, 0)
    assert exact.f1 == exact.precision == exact.recall == 1
    # The onset may be off by the collar; the offset by half of the length where that is more.
    assert total(count_events(TRUTH, [Span(1.5, 4.0, "dog")]).values()) == Counts(1, 0, 1)
    assert total(count_events(TRUTH, [Span(1.51, 3.0, "dog")]).values()) == Counts(0, 1, 2)
    assert total(count_events(TRUTH, [Span(1.0, 4.01, "dog")]).values()) == Counts(0, 1, 2)
    assert total(count_events(TRUTH, [Span(1.0, 3.0, "cat")]).values()) == Counts(0, 1, 2)


def test_a_true_event_is_matched_once_and_as_many_as_possible_are() -> None:
    twice = [Span(1.0, 3.0, "dog"), Span(1.1, 3.0, "dog")]
    assert total(count_events([Span(1.0, 3.0, "dog")], twice).values()) == Counts(1, 1, 0)
    # Taking the nearest first would leave the second true event alone.
    true = [Span(1.0, 2.0, "dog"), Span(1.4, 2.4, "dog")]
    found = [Span(1.3, 2.3, "dog"), Span(0.7, 1.7, "dog")]
    assert total(count_events(true, found).values()) == Counts(2, 0, 0)


def test_segments_are_active_where_an_event_touches_them() -> None:
    counts = count_segments([Span(0.5, 2.2, "dog")], [Span(1.0, 4.0, "dog")])
    assert counts == {"dog": Counts(2, 1, 1)}


def test_counts_of_recordings_add_up() -> None:
    one, two = {"dog": Counts(1, 2, 3)}, {"dog": Counts(1, 0, 0), "cat": Counts(0, 1, 0)}
    assert add_up([one, two]) == {"cat": Counts(0, 1, 0), "dog": Counts(2, 2, 3)}
    assert math.isnan(Counts().f1)


def test_the_same_numbers_as_sed_eval() -> None:
    sed_eval = pytest.importorskip("sed_eval", reason="sed_eval is not installed")
    import dcase_util

    rng = np.random.default_rng(0)
    labels = ["a", "b", "c"]
    for _ in range(20):
        true, found = random_events(rng, labels)
        lists = [
            dcase_util.containers.MetaDataContainer(
                [
                    {"filename": "f", "onset": s.start, "offset": s.end, "event_label": s.label}
                    for s in spans
                ]
            )
            for spans in (true, found)
        ]
        events = sed_eval.sound_event.EventBasedMetrics(
            event_label_list=labels, t_collar=0.5, percentage_of_length=0.5
        )
        events.evaluate(*lists)
        segments = sed_eval.sound_event.SegmentBasedMetrics(labels, time_resolution=1.0)
        segments.evaluate(*lists)
        for ours, theirs in ((count_events, events), (count_segments, segments)):
            counts = total(ours(true, found).values())
            hits, alarms, misses = counts
            overall = [theirs.overall[name] for name in ("Ntp", "Nsys", "Nref")]
            assert [hits, hits + alarms, hits + misses] == overall
            wanted = theirs.results_overall_metrics()["f_measure"]["f_measure"]
            # Where nothing is right at all, sed_eval divides zero by zero; here that is an F1 of 0.
            assert counts.f1 == pytest.approx(wanted if counts.hits else 0.0, abs=1e-9)


def random_events(rng: np.random.Generator, labels: list[str]) -> tuple[list[Span], list[Span]]:
    true, found = [], []
    for _ in range(rng.integers(1, 30)):
        start, length = rng.uniform(0, 60), rng.uniform(0.2, 5)
        true.append(Span(start, start + length, labels[rng.integers(3)]))
        if rng.random() < 0.7:
            begin = max(0.0, start + rng.normal(0, 0.4))
            label = true[-1].label if rng.random() < 0.8 else labels[rng.integers(3)]
            found.append(Span(begin, begin + max(0.05, length + rng.normal(0, 0.5)), label))
    return true, found

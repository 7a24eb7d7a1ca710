"""Thresholds a label: the least ones that reach a precision, and the adapter that keeps them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_audio import Adapter
from prism_audio.errors import InputError
from prism_audio.evaluation.label_thresholds import (
    Judged,
    find_thresholds,
    judge_events,
    save_thresholds,
)
from prism_audio.labelling.formats import TimedLabel
from prism_audio.labelling.labeller import UNKNOWN, Labeller


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=25),
    st.sampled_from([0.3, 0.5, 0.9, 1.0]),
)
def test_the_least_threshold_that_reaches_the_precision(
    answers: list[tuple[int, bool]], precision: float
) -> None:
    (row,) = find_thresholds([Judged("dog", v, right) for v, right in answers], precision)

    def reached(t: float) -> bool:
        left = [right for value, right in answers if value >= t]
        return bool(left) and sum(left) >= precision * len(left)

    good = [float(value) for value, _ in answers if reached(value)]
    assert row.threshold == (min(good) if good else None)
    if row.threshold is not None:
        left = [right for value, right in answers if value >= row.threshold]
        assert (row.answers_left, row.right_left) == (len(left), sum(left))
    assert (row.answers, row.right) == (len(answers), sum(right for _, right in answers))


def test_an_event_is_right_where_a_true_one_of_its_label_overlaps_it() -> None:
    truth = [TimedLabel("a", 10, 14, "dog")]
    events = [(8, 10.5, "dog"), (8, 10, "dog"), (11, 12, "cat"), (13.9, 20, "dog")]
    judged = judge_events([(TimedLabel("a", *event), 5.0) for event in events], truth)
    assert [answer.right for answer in judged] == [True, False, False, True]


def test_thresholds_are_kept_and_obeyed(tmp_path) -> None:
    path = tmp_path / "site.safetensors"
    T = np.eye(3, dtype=np.float32)
    Adapter.zero_shot(T, ("dog", "cat", "bell")).save(path)
    found = find_thresholds(
        [Judged("dog", 0.9, True), Judged("dog", 0.6, False), Judged("cat", 0.7, False)], 0.9
    )
    save_thresholds(path, found, of_events=False)
    adapter = Adapter.load(path)
    assert adapter.facts.label_thresholds == (0.9, None, None)
    E = np.array([[0.95, 0.31, 0], [0.8, 0.6, 0], [0.6, 0.8, 0], [0.1, 0.2, 0.9]])
    labels = [answer.label for answer in Labeller(adapter).answer(E)]
    assert labels == ["dog", UNKNOWN, "cat", "bell"]
    # One threshold for all takes their place.
    labels = [answer.label for answer in Labeller(adapter, threshold=0.7).answer(E)]
    assert labels == ["dog", "dog", "cat", "bell"]
    save_thresholds(path, found, of_events=True)
    adapter = Adapter.load(path)
    assert adapter.facts.label_onsets == adapter.facts.label_thresholds == (0.9, None, None)
    with pytest.raises(InputError, match="none of the labels"):
        save_thresholds(path, found[:0], of_events=True)

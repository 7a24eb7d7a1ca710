from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_audio import Adapter
from prism_audio.errors import InputError
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import classify
from prism_audio.labelling.events import Event, Events, LabelledWindow, events, merge_windows


def windows(labels: str, hop: float = 1.0, size: float = 2.0) -> list[LabelledWindow]:
    """A window for every letter; a dot is one that nothing is known of."""
    return [
        LabelledWindow(i * hop, i * hop + size, None if label == "." else label, 0.5)
        for i, label in enumerate(labels)
    ]


def spans(found: list[Event]) -> list[tuple[str, float, float]]:
    return [(event.label, event.start, event.end) for event in found]


def test_boundaries_lie_in_the_middle_of_what_windows_share() -> None:
    found = list(events(windows("aabb")))
    assert spans(found) == [("a", 0.0, 2.5), ("b", 2.5, 5.0)]
    assert [event.windows for event in found] == [2, 2]


def test_windows_with_gaps_between_them() -> None:
    found = list(events(windows("ab", hop=3.0)))
    assert spans(found) == [("a", 0.0, 2.0), ("b", 3.0, 5.0)]


def test_unknown_is_no_event() -> None:
    assert spans(list(events(windows("a..a")))) == [("a", 0.0, 1.5), ("a", 3.5, 5.0)]
    assert list(events(windows("..."))) == []
    assert list(events([])) == []


def test_brief_disagreement_is_not_an_event() -> None:
    assert spans(list(events(windows("aababbb"), 2))) == [("a", 0.0, 4.5), ("b", 4.5, 8.0)]
    assert spans(list(events(windows("aabcbccc"), 2))) == [("a", 0.0, 5.5), ("c", 5.5, 9.0)]
    assert list(events(windows("abab"), 2)) == []
    assert spans(list(events(windows("aa.a"), 2))) == [("a", 0.0, 5.0)]


def test_score_is_the_mean_of_the_windows_that_carry_the_label() -> None:
    heard = [
        LabelledWindow(0, 2, "a", 0.2),
        LabelledWindow(1, 3, "b", 0.9),
        LabelledWindow(2, 4, "a", 0.6),
    ]
    (event,) = [event for event in events(heard + windows("a"), 2) if event.label == "a"][:1]
    assert event.score == pytest.approx((0.6 + 0.5) / 2)


def test_beginning_is_told_when_it_is_confirmed() -> None:
    merger = Events(3)
    told = [merger.add(window) for window in windows("aaab")]
    assert [len(changes) for changes in told] == [0, 0, 1, 0]
    ((kind, event),) = told[2]
    assert (kind, event.label, event.start, event.windows) == ("begin", "a", 0.0, 3)
    ((kind, event),) = merger.close()
    assert (kind, event.end) == ("end", 5.0)


def test_confirm_must_be_positive() -> None:
    with pytest.raises(InputError, match="at least one"):
        Events(0)


@given(st.text("ab.", max_size=40), st.integers(1, 4))
def test_events_never_overlap_and_confirmed_ones_are_long_enough(text: str, confirm: int) -> None:
    found = list(events(windows(text), confirm))
    for before, after in pairwise(found):
        assert before.end <= after.start
        assert before.label != after.label or before.end < after.start
    assert all(event.windows >= confirm and event.start < event.end for event in found)
    if confirm == 1:  # every window that carries a label is in an event
        assert sum(event.windows for event in found) == sum(letter != "." for letter in text)


@given(st.text("abc.", max_size=60), st.integers(1, 3))
def test_beginnings_and_ends_pair_up(text: str, confirm: int) -> None:
    merger = Events(confirm)
    told = [change for window in windows(text) for change in merger.add(window)] + merger.close()
    assert [kind for kind, _ in told] == ["begin", "end"] * (len(told) // 2)
    for (_, begun), (_, ended) in zip(told[::2], told[1::2], strict=True):
        assert (begun.label, begun.start) == (ended.label, ended.start)


def test_recordings_are_kept_apart() -> None:
    E = np.eye(2, dtype=np.float32)[[0, 0, 0, 1]]
    start = np.array([0.0, 1.0, 0.0, 1.0])
    batch = Batch(E, ["x", "x", "y", "y"], start, start + 2)
    adapter = Adapter.zero_shot(np.array([[1.0, 0.0]]), ("a",))
    found = merge_windows(classify(batch, adapter, threshold=0.5))
    assert [(event.file, event.start, event.end) for event in found] == [("x", 0, 3), ("y", 0, 1.5)]
    assert found[0].score == 1.0

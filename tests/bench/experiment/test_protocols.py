from __future__ import annotations

import numpy as np
import pytest

from prism_audio.bench.experiment.conditions import Condition
from prism_audio.bench.experiment.protocols import (
    BURST,
    FEW,
    LISTS,
    STREAMS,
    ClipTable,
    cases,
    stream_order,
)

CLASSES, PER_CLASS = 10, 40
HERE, THERE = Condition("here", "mixed"), Condition("there", "mixed")


@pytest.fixture
def clips() -> ClipTable:
    random = np.random.default_rng(0)
    truth = random.permutation(np.repeat(np.arange(CLASSES), PER_CLASS))
    return ClipTable(truth, random.integers(1, 6, len(truth)), seed=7, groups=("a", "b") * 200)


def found(protocol: str, clips: ClipTable) -> list:
    return cases(protocol, clips, [HERE, THERE, Condition("here", -6.0)], [HERE, THERE])


def test_transductive_takes_every_clip_of_every_condition(clips: ClipTable) -> None:
    assert [case.condition for case in found("transductive", clips)] == [
        HERE,
        THERE,
        Condition("here", -6.0),
    ]
    for case in found("transductive", clips):
        np.testing.assert_array_equal(case.rows, np.arange(len(clips.truth)))
        assert case.tests == ()


def test_halves_share_no_clip_and_at_most_one_fold(clips: ClipTable) -> None:
    one, other = clips.halves
    assert sorted([*one, *other]) == list(range(len(clips.truth)))
    assert len(set(clips.folds[one]) & set(clips.folds[other])) <= 1
    judged = [row for case in found("half", clips)[:2] for row in case.tests[0].rows]
    assert sorted(judged) == list(range(len(clips.truth)))
    for case in found("half", clips):
        assert not set(case.rows) & set(case.tests[0].rows)


def test_cross_judges_every_place_on_clips_it_has_not_seen(clips: ClipTable) -> None:
    every = found("cross", clips)
    assert len(every) == 4
    for case in every:
        assert [test.condition for test in case.tests] == [HERE, THERE]
        assert all(not set(case.rows) & set(test.rows) for test in case.tests)


def test_few_holds_all_clips_of_so_many_classes(clips: ClipTable) -> None:
    for case in found("few", clips):
        chosen = np.unique(clips.truth[case.rows])
        assert len(chosen) == int(case.setting)
        assert len(case.rows) == PER_CLASS * len(chosen)
    assert {int(case.setting) for case in found("few", clips)} == set(FEW)
    drawn = [tuple(np.unique(clips.truth[case.rows])) for case in found("few", clips)]
    assert len(set(drawn)) > len(FEW)


def test_lists_offer_only_the_classes_of_their_clips(clips: ClipTable) -> None:
    drawn = found("lists", clips)
    assert {int(case.setting) for case in drawn} == {k for k in LISTS if k < CLASSES}
    for case in drawn:
        assert case.classes is not None
        np.testing.assert_array_equal(case.classes, np.unique(clips.truth[case.rows]))
        assert len(case.rows) == PER_CLASS * int(case.setting)
    assert len({tuple(case.classes) for case in drawn}) > 1


def test_few_leaves_out_what_is_not_few() -> None:
    two = ClipTable(np.array([0, 1] * 8), np.ones(16, int))
    assert {case.setting for case in cases("few", two, [], [HERE])} == {"1"}


def test_skewed_keeps_every_class_and_makes_most_of_them_rare(clips: ClipTable) -> None:
    for case in found("skewed", clips):
        counts = sorted(np.bincount(clips.truth[case.rows], minlength=CLASSES), reverse=True)
        assert counts == [-(-PER_CLASS // rank) for rank in range(1, CLASSES + 1)]
    commonest = {np.bincount(clips.truth[case.rows]).argmax() for case in found("skewed", clips)}
    assert len(commonest) > 1


@pytest.mark.parametrize("kind", STREAMS)
def test_streams_bring_every_clip_once(clips: ClipTable, kind: str) -> None:
    order = stream_order(clips, kind)
    assert sorted(order) == list(range(len(clips.truth)))
    changes = int(np.sum(np.diff(clips.truth[order]) != 0))
    if kind == "class by class":
        assert changes == CLASSES - 1
    elif kind == "in bursts":
        assert changes < len(order) // BURST
        assert changes > CLASSES
    else:
        assert changes > 0.8 * len(order)


def test_the_first_quarter_of_a_sorted_stream_has_few_classes(clips: ClipTable) -> None:
    case = next(case for case in found("stream", clips) if case.setting == "class by class")
    assert len(np.unique(clips.truth[case.rows])) <= CLASSES // 4 + 1
    assert not set(case.rows) & set(case.tests[0].rows)


def test_calibration_sizes_grow_within_one_half(clips: ClipTable) -> None:
    one, other = clips.halves
    for case in found("calibration", clips):
        assert len(set(case.rows)) == int(case.setting)
        assert set(case.rows) <= set(one)
        assert set(case.tests[0].rows) == set(other)
    assert max(int(case.setting) for case in found("calibration", clips)) == len(one)


def test_batches_do_not_overlap(clips: ClipTable) -> None:
    here = [case for case in found("batch", clips) if case.condition == HERE]
    for size in {case.setting for case in here}:
        rows = np.concatenate([case.rows for case in here if case.setting == size])
        assert len(set(rows)) == len(rows)
        assert all(len(case.rows) == int(size) for case in here if case.setting == size)


def test_groups_are_taken_by_themselves(clips: ClipTable) -> None:
    case = found("groups", clips)[1]
    assert (case.setting, list(case.rows[:3])) == ("b", [1, 3, 5])


@pytest.mark.parametrize("protocol", ["few", "skewed", "stream", "calibration", "batch"])
def test_the_seed_decides(clips: ClipTable, protocol: str) -> None:
    def rows(seed: int) -> list[list[int]]:
        return [
            case.rows.tolist()
            for case in found(protocol, ClipTable(clips.truth, clips.folds, seed))
        ]

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)

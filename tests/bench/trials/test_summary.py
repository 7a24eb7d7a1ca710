from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_audio.bench.experiment.conditions import Condition
from prism_audio.bench.experiment.protocols import Case
from prism_audio.bench.experiment.protocols import Test as Judged
from prism_audio.bench.report.losses import losses
from prism_audio.bench.report.main_tables import class_table, level_table, main_table, place_table
from prism_audio.bench.report.protocol_tables import half_table, lead, protocol_table
from prism_audio.bench.report.table import interval
from prism_audio.bench.trials.runner import JobResult
from prism_audio.bench.trials.scores import paired_bootstrap
from prism_audio.bench.trials.summary import TransductiveSummary

N, CLASSES = 40, 4
TRUTH = np.arange(N) % CLASSES
NAMES = ["bell", "crow", "drum", "engine"]


def answer(method: str, place: str, level: float | str, right: int) -> JobResult:
    """The first ``right`` clips of 40 are labelled right."""
    condition = Condition(place, level)
    given = np.where(np.arange(N) < right, TRUTH, (TRUTH + 1) % CLASSES).astype(np.int16)
    case = Case("transductive", "", 0, condition, np.arange(N))
    return JobResult(method, case, condition, np.arange(N), given, TRUTH)


def summary(better: int = 8) -> TransductiveSummary:
    """Two places, two SNRs and clean; an oracle without an answer for clean."""
    answers = []
    for place, base in (("hall", 10), ("yard", 20)):
        for level, more in ((-6.0, 0), (6.0, 4)):
            answers.append(answer("zero_shot", place, level, base + more))
            answers.append(answer("oracle", place, level, base + more + 1))
            answers.append(answer("prism", place, level, base + more + better))
    answers.append(answer("zero_shot", "clean", "clean", 36))
    answers.append(answer("prism", "clean", "clean", 30))
    return TransductiveSummary(answers, TRUTH, np.arange(N), CLASSES)


def test_clean_counts_once_in_every_place() -> None:
    found = summary()
    assert found.levels == [-6.0, 6.0, "clean"]
    assert found.mean("zero_shot") == pytest.approx((10 + 14 + 36 + 20 + 24 + 36) / 6 / N)
    assert found.mean("prism", places=["yard"], levels=[6.0]) == pytest.approx(32 / N)


def test_an_oracle_is_zero_shot_where_it_is_told_nothing() -> None:
    found = summary()
    assert found.score("oracle", "hall", "clean") == found.score("zero_shot", "hall", "clean")
    assert found.mean("oracle") == pytest.approx(found.mean("zero_shot") + 4 / 6 / N)


def test_the_difference_is_that_of_the_means() -> None:
    found = summary()
    gap = found.difference("prism", "zero_shot")
    assert gap.mean == pytest.approx(found.mean("prism") - found.mean("zero_shot"))
    assert gap.low <= gap.mean <= gap.high


def test_class_scores_leave_clean_out() -> None:
    scores = summary().class_scores("zero_shot")
    assert scores.mean() == pytest.approx((10 + 14 + 20 + 24) / 4 / N)


def test_tables_show_the_numbers() -> None:
    found = summary()
    kinds = {"zero_shot": "control", "oracle": "oracle", "prism": "ours"}
    table = main_table(found, "prism", "esc50", kinds)
    ours = next(row for row in table.rows if row[0] == "prism")
    assert ours[2] == f"{100 * found.mean('prism'):.1f}"
    assert "88.8" in next(row for row in table.rows if row[0] == "zero_shot")
    assert place_table(found, ["zero_shot", "prism"], "esc50").header[1:3] == ["hall", "yard"]
    levels = level_table(found, ["zero_shot", "prism"], "esc50")
    assert levels.header == ["method", "-6 dB", "6 dB", "clean"]
    assert levels.rows[0][1:] == ["37.5", "47.5", "90.0"]
    assert levels.strong == {(1, 1), (1, 2), (0, 3)}
    by_class = class_table(found, [], "prism", NAMES)
    assert sorted(row[0] for row in by_class.rows) == NAMES
    changes = [float(row[-1]) for row in by_class.rows]
    assert changes == sorted(changes, reverse=True)


def test_rows_stand_in_the_order_of_the_experiment() -> None:
    kinds = {"oracle": "oracle", "prism": "ours", "absent": "rival", "zero_shot": "control"}
    table = main_table(summary(), "prism", "esc50", kinds)
    assert [row[0] for row in table.rows] == ["oracle", "prism", "zero_shot"]


def test_a_class_stresses_all_that_are_best_and_none_where_all_are_alike() -> None:
    found = summary(better=0)
    table = class_table(found, ["oracle"], "prism", NAMES)
    best = {row: [column for r, column in table.strong if r == row] for row in range(CLASSES)}
    for number, row in enumerate(table.rows):
        values = [float(cell) for cell in row[1:4]]
        expected = [] if min(values) == max(values) else [1 + values.index(max(values))]
        assert best[number] == expected
    assert any(best.values())
    assert not all(best.values())


def halves(method: str, right: int) -> list[JobResult]:
    """Under ``half`` in two places: of each half of the clips the first ``right`` are right."""
    found = []
    for place in ("hall", "yard"):
        for number, rows in enumerate((np.arange(N // 2), np.arange(N // 2, N))):
            condition = Condition(place, "mixed")
            given = np.where(np.arange(N // 2) < right, TRUTH[rows], (TRUTH[rows] + 1) % CLASSES)
            other = np.setdiff1d(np.arange(N), rows)
            case = Case("half", "", number, condition, other, (Judged(condition, rows),))
            found.append(
                JobResult(method, case, condition, rows, given.astype(np.int16), TRUTH[rows])
            )
    return found


def test_under_half_the_lead_is_that_of_the_means_with_an_interval() -> None:
    answers = [*halves("zero_shot", 8), *halves("prism", 13), answer("prism", "hall", -6.0, 0)]
    sources = np.arange(N) // 2
    gap = lead(answers, sources, "prism", "zero_shot")
    assert gap.mean == pytest.approx(5 / 20)
    clips = (np.arange(N) % 20 >= 8) & (np.arange(N) % 20 < 13)
    assert gap == paired_bootstrap(clips.astype(float), sources)
    table = half_table(answers, sources, ["zero_shot", "prism"], "prism")
    assert table.header == ["method", "accuracy", "prism is ahead by"]
    assert table.rows == [["zero_shot", "40.0", interval(gap)], ["prism", "65.0", "-"]]


@pytest.mark.parametrize(("noisy", "told"), [(True, "of the places."), (False, "clean clips.")])
def test_a_protocol_says_what_it_is_the_mean_of(noisy: bool, told: str) -> None:
    answers = halves("prism", 5)
    if not noisy:
        answers.append(replace(answers[0], tested=Condition("clean", "clean")))
    assert told in protocol_table("half", answers, ["prism"]).note


def test_losses_are_told() -> None:
    told = " ".join(losses(summary(), [], "prism", NAMES))
    assert "below zero-shot in 2 of 6 conditions: hall clean (-15.0)" in told
    assert "Another method is best in 2 of 6 conditions" in told
    beaten = " ".join(losses(summary(better=-5), [], "prism", NAMES))
    assert "zero_shot is better than prism over all conditions" in beaten
    assert "4 of 4 classes lose" in beaten


def test_who_is_ahead_by_macro_f1_is_told() -> None:
    found = summary()
    assert "By macro-F1, too, nothing is ahead of prism." in losses(found, [], "prism", NAMES)
    behind = " ".join(losses(found, [], "zero_shot", NAMES))
    assert found.f1("prism") > found.f1("oracle") > found.f1("zero_shot")
    first = f"prism {100 * found.f1('prism'):.1f}; oracle {100 * found.f1('oracle'):.1f}."
    assert f"By macro-F1 zero_shot ({100 * found.f1('zero_shot'):.1f}) is behind {first}" in behind


def test_a_method_that_travels_better_is_told() -> None:
    def moved(method: str, here: str, there: str, right: int) -> JobResult:
        base = answer(method, there, "mixed", right)
        case = Case("cross", "", 0, Condition(here, "mixed"), np.arange(N))
        return replace(base, case=case)

    places = ("hall", "yard")
    right = {"zero_shot": (20, 20), "prism": (30, 22), "sinkhorn": (28, 26)}
    answers = [
        moved(method, here, there, same if here == there else other)
        for method, (same, other) in right.items()
        for here in places
        for there in places
    ]
    told = " ".join(losses(summary(), answers, "prism", NAMES))
    assert "Protocol 'cross', another place: the best is another method, sinkhorn (65.0" in told
    assert "same place" not in told


def test_losses_under_other_protocols_are_told() -> None:
    def few(method: str, right: int) -> JobResult:
        base = answer(method, "hall", -6.0, right)
        case = Case("few", "2", 0, base.tested, np.arange(N))
        return JobResult(method, case, base.tested, base.rows, base.labels, TRUTH)

    worse = [few("zero_shot", 30), few("prism", 10)]
    told = " ".join(losses(summary(), worse, "prism", NAMES))
    assert "Protocol 'few': it is below zero-shot at 2 (25.0 against 75.0)" in told
    assert "Protocol 'few': the best is another method, zero_shot at 2 (75.0 against 25.0)" in told
    fine = [few("zero_shot", 10), few("prism", 30)]
    assert "few" not in " ".join(losses(summary(), fine, "prism", NAMES))

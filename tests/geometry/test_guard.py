"""The guard: what it counts, how its verdict follows, and that batches which mislead do no harm."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from prism_audio import PRISM
from prism_audio.geometry.guard import (
    MOST,
    NOTHING_HEARD,
    Heard,
    Verdict,
    agreement,
    carried,
    coverage,
    effective_classes,
    judge,
    listen,
)
from prism_audio.geometry.neighbours import Neighbours
from prism_audio.geometry.shift import Shift
from tests.helpers.problems import problem, unit

EVEN = np.full(5, 0.2)
# Neighbours that speak neither for classes nor against them.
SILENT = Neighbours(0.6, 0.0)
BOTH_SILENT = (SILENT, SILENT)


def test_agreement_is_cohens_kappa():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=300)
    other = np.where(rng.random(300) < 0.7, y, rng.integers(5, size=300))
    assert agreement(y, other, 5) == pytest.approx(cohen_kappa_score(y, other))
    assert agreement(y, y, 5) == pytest.approx(1)
    assert agreement(y, (y + 1) % 5, 5) == 0
    assert agreement(y * 0, y * 0, 5) == 0, "one class says nothing"


def test_more_clips_evidence_and_support_never_count_for_less():
    assert (np.diff([carried(n, 10, 0.9, 0.9) for n in (4, 16, 64, 256, 5000)]) > 0).all()
    for at in range(2):
        parts = np.full((4, 2), 0.9)
        parts[:, at] = (0, 0.3, 0.6, 1)
        assert (np.diff([carried(200, 10, *row) for row in parts]) > 0).all()
    assert carried(42, 10, 1.0, 1.0) == pytest.approx(0.5)
    assert carried(1e9, 10, 1.0, 0.25) == pytest.approx(0.25)
    assert carried(1e9, 10, 0.5, 1.0) == pytest.approx(0.5)


def test_support_is_the_correction_against_what_the_rounds_do_not_agree_on():
    small, large = heard(0.7, change=0.1), heard(0.7, change=0.8)
    assert small.support == pytest.approx(0.5), "as much wanted as doubted"
    assert large.support > 0.95
    assert heard(0.99, change=0.0).support > 0.99, "next to nothing is wanted, nor doubted"
    assert heard(0.0, change=0.0).support < 0.01


def test_labels_that_two_kinds_of_rounds_share_count_as_the_correction():
    rng = np.random.default_rng(0)
    before, after = rng.integers(5, size=(2, 400))
    same = listen(after, after, before, before, EVEN, 400, BOTH_SILENT)
    assert (same.kappa, same.part) == (pytest.approx(1), pytest.approx(1, abs=0.01))
    assert same.change == pytest.approx(1 - agreement(after, before, 5))
    apart = listen(after, rng.integers(5, size=400), before, before, EVEN, 400, BOTH_SILENT)
    assert apart.support < same.support
    few = listen(after % 2, after % 2, before, before, EVEN, 400, BOTH_SILENT)
    assert few.classes == pytest.approx(2, rel=0.05)
    assert few.part == pytest.approx(0.4, rel=0.05)


def test_a_shift_counts_as_far_as_the_rounds_confirm_its_step():
    rng = np.random.default_rng(0)
    plain, wanted = rng.integers(5, size=(2, 4000))
    half = np.where(np.arange(4000) % 2 == 0, wanted, plain)
    away = np.where(np.arange(4000) % 2 == 0, rng.integers(5, size=4000), plain)
    for shifted, confirmed in ((wanted, 1), (half, 1), (plain, 1), (away, 0)):
        seen = listen(
            wanted,
            wanted if shifted is not away else plain,
            shifted,
            plain,
            EVEN,
            4000,
            BOTH_SILENT,
        )
        assert seen.confirmed == pytest.approx(confirmed, abs=0.05)
        word = judge(4000, 4000, 5, shift(0.9, 5), seen)
        assert word.numbers["shift_weight"] == pytest.approx(0.9 * seen.confirmed**2)


def test_what_neighbours_say_adds_to_the_evidence():
    against, silent, for_it = (
        judge(80, 80, 10, shift(0.5), heard(0.9)._replace(neighbours=Neighbours(0.5, B)))
        for B in (-2.0, 0.0, 2.0)
    )
    assert [v.numbers["evidence_weight"] for v in (against, silent, for_it)] == [
        0.0,
        pytest.approx(0.5),
        pytest.approx(0.9),
    ]


def test_rounds_are_believed_by_what_was_heard_and_by_neighbours():
    y = np.arange(500) % 5
    uneven = np.where(np.arange(500) % 10 == 9, y, 0)

    def even(by_a, by_b, y_a=uneven):
        return listen(
            y_a, y, y, y, EVEN, 500, [Neighbours(kappa, 0.0) for kappa in (by_a, by_b)]
        ).even

    assert even(0.5, 0.5, y) == pytest.approx(1)
    part = listen(uneven, y, y, y, EVEN, 500, BOTH_SILENT).part
    assert even(0.6, 0.6) == pytest.approx(part)
    assert (np.diff([even(by_a, 0.6) for by_a in (0.4, 0.6, 0.7, 0.9)]) < -0.02).all()
    assert np.isfinite([even(1.0, 0.0), even(0.0, 1.0)]).all()


def test_few_classes_that_both_kinds_of_rounds_split_alike_carry_nothing():
    y = np.arange(400) % 5
    all_heard, one_heard = (listen(y, y, y, y, pi, 400, BOTH_SILENT) for pi in (EVEN, np.eye(5)[0]))
    assert all_heard.support == pytest.approx(1)
    assert one_heard.support < 0.05


def test_classes_heard_are_counted_by_what_the_clips_could_hold():
    even, few = np.arange(600) % 6, np.arange(600) % 2
    assert effective_classes(np.bincount(even) / 600) == pytest.approx(6)
    assert effective_classes(np.bincount(few * 5) / 600) == pytest.approx(2)
    assert effective_classes(np.array([1.0])) == pytest.approx(1)
    assert coverage(6, 600, 6) == pytest.approx(1)
    assert coverage(2, 600, 6) == pytest.approx(1 / 3)
    rng = np.random.default_rng(0)
    held = [len(np.unique(rng.integers(50, size=30))) for _ in range(2000)]
    assert coverage(0.8 * np.mean(held), 30, 50) == pytest.approx(0.8, abs=0.01)


def heard(kappa, classes=10.0, change=0.3):
    part = classes / 10
    return Heard(classes, part, 1.0, kappa, change, 1.0, neighbours=SILENT, even=part)


def shift(weight, C=10):
    evidence = 20 * (1 + np.sqrt(weight / (1 - weight)))
    return Shift(np.zeros(4), np.zeros((5, C)), np.full(C, 1 / C), evidence, 20.0)


def test_the_word_and_the_reasons_follow_the_parts_in_use():
    nothing, part, whole = (
        judge(300, 300, 10, shift(w), heard(*seen))
        for w, seen in ((0.0, (1.0,)), (0.8, (0.5, 5.0)), (0.95, (0.98, 9.8)))
    )
    assert [nothing, part, whole] == ["zero-shot", "shrunk", "adapted"]
    assert "300 clips for 10 classes" in nothing.reasons[0]
    assert "the shift of the place is corrected" in " ".join(part.reasons)
    assert "shift, spread and class means" in " ".join(whole.reasons)
    assert nothing.numbers["weight"] == nothing.numbers["shift_weight"] == 0
    assert whole.numbers["weight"] >= MOST > part.numbers["weight"]


def test_it_says_how_many_more_clips_would_allow_the_rest():
    few = judge(12, 12, 10, shift(0.6), heard(0.95, 6.5))
    assert few == "shrunk"
    wanted = next(reason for reason in few.reasons if "more clips" in reason)
    more = float(wanted.split()[1])
    weight = 1 - 20 / (50 * (12 + more) / 12)
    assert carried(12 + more, 10, weight, few.numbers["support"]) >= MOST - 0.05
    apart = judge(3000, 3000, 10, shift(0.95), heard(0.4, 5.0))
    assert "agree to 40 %" in " ".join(apart.reasons)
    assert "not heard yet" in " ".join(apart.reasons)


def test_clips_that_are_alike_are_named():
    assert "worth 30" in judge(300, 30, 10, shift(0.9), heard(0.9, 9.0)).reasons[0]
    assert "worth" not in judge(300, 299, 10, shift(0.9), heard(0.9, 9.0)).reasons[0]


def test_where_there_is_nothing_to_tell_apart_it_is_zero_shot():
    verdict = judge(2, 2, 10, None, NOTHING_HEARD)
    assert verdict == "zero-shot"
    assert verdict.numbers["weight"] == 0
    assert "too little" in verdict.reasons[0]


def test_a_verdict_is_a_word_that_survives_pickling():
    verdict = judge(300, 300, 50, shift(0.5, 50), heard(0.8, 30.0))
    back = pickle.loads(pickle.dumps(verdict))
    assert back == verdict == "shrunk"
    assert (back.reasons, back.numbers) == (verdict.reasons, verdict.numbers)
    with pytest.raises(ValueError, match="not 'maybe'"):
        Verdict("maybe")


def losses(N, kept, noise, blur=0.0, **without):
    """Mean loss in accuracy on unseen clips of all classes, guarded and with something left out."""
    lost = []
    for seed in range(4):
        E, T, truth = problem(2400, 64, 20, seed=seed, noise=noise)
        E = unit(E + blur * np.random.default_rng(seed).standard_normal(E.shape) / 8)
        train = np.flatnonzero((np.arange(2400) < 1200) & (truth < kept))[:N]
        test = slice(1200, None)
        before = np.mean(np.argmax(E[test] @ T.T, axis=1) == truth[test])
        models = (PRISM(**options).fit(E[train], prototypes=T) for options in ({}, without))
        lost.append([before - np.mean(m.predict(E[test]) == truth[test]) for m in models])
    return np.mean(lost, axis=0)


@pytest.mark.parametrize(
    ("N", "kept", "noise", "blur"),
    [
        (20, 20, 1.2, 0.0),
        (60, 1, 0.6, 1.5),
        (200, 3, 1.2, 0.0),
        (300, 6, 0.6, 1.0),
        (200, 3, 0.6, 1.0),
    ],
    ids=["20 clips", "1 class", "3 classes", "6 blurred", "3 blurred"],
)
def test_a_batch_that_misleads_does_no_harm(N, kept, noise, blur):
    guarded, bare = losses(N, kept, noise, blur, guard=False, prior_clips=0.0)
    assert guarded < 0.02
    assert bare > 0.05, "without guard and prior this batch destroys the classifier"


def test_where_the_batch_is_good_the_guard_takes_little_away():
    guarded, unguarded = losses(1200, 20, 1.2, guard=False)
    assert guarded < unguarded + 0.02
    assert guarded < -0.2

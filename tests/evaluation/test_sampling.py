"""Accuracy from few labels against closed forms, plain loops and simulated campaigns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from prism_audio.evaluation.check import Campaign
from prism_audio.evaluation.clip_scores import Z
from prism_audio.evaluation.odds import evidence
from prism_audio.evaluation.picking import pick
from prism_audio.evaluation.sampling import Sample, _variance_left, accuracy
from tests.helpers.campaigns import a_place


def a_sample(right: list[int], inclusion: float = 1e-6) -> Sample:
    n = len(right)
    return Sample(np.arange(n), np.array(right, bool), np.full(n, inclusion))


@pytest.mark.parametrize("n", [5, 30, 100])
def test_equal_clips_that_are_all_right_give_the_bound_of_wilson(n: int) -> None:
    value, low, high = accuracy(np.full(1000, 0.8), a_sample([1] * n))
    assert (value, high) == (1, pytest.approx(1))
    assert low == pytest.approx(1 / (1 + Z**2 / n), abs=1e-6)


def test_equal_clips_give_the_interval_of_wilson() -> None:
    n, share = 60, 0.7
    right = [1, 1, 0, 1, 1, 0, 1, 1, 1, 0] * 6
    value, low, high = accuracy(np.full(1000, 0.8), a_sample(right))
    z2 = Z**2
    centre, half = share + z2 / (2 * n), np.sqrt(z2 * share * (1 - share) / n + (z2 / n) ** 2 / 4)
    wanted = ((centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n))
    assert value == pytest.approx(share, abs=1e-6)
    assert (low, high) == pytest.approx(wanted, abs=1e-6)


def test_a_steep_slope_that_the_clips_contradict_gives_an_interval() -> None:
    p = np.array([0.001, 0.5] * 50)
    sample = Sample(np.array([0, 1]), np.array([True, False]), np.array([0.05, 0.5]))
    value, low, high = accuracy(p, sample, slope=8)
    assert 0 <= low <= value <= high <= 1


def test_right_and_wrong_may_be_exchanged() -> None:
    rng = np.random.default_rng(0)
    p, right = rng.random(500), rng.random(40) < 0.6
    sample = Sample(rng.permutation(500)[:40], right, rng.uniform(0.01, 0.2, 40))
    label = rng.integers(6, size=500)
    value, low, high = accuracy(p, sample, label)
    mirrored = accuracy(1 - p, sample._replace(right=~right), label)
    assert mirrored == pytest.approx((1 - value, 1 - high, 1 - low), abs=1e-6)
    assert low < value < high


def test_the_variance_that_labels_leave_is_that_of_plain_loops() -> None:
    rng = np.random.default_rng(4)
    place, truth = a_place(300, seed=4, classes=7, spread=1.5)
    picks = pick(place, 60, seed=4)
    m = expit(0.7 * evidence(place.probability) - 0.3) ** rng.uniform(0.5, 1.5)
    right = place.answer[picks.rows] == truth[picks.rows]
    d, label, pi = m * (1 - m), place.answer, picks.probability
    upper, lower = 1.0, 1.0
    for c in range(7):
        heard = [k for k, row in enumerate(picks.rows) if label[row] == c]
        for k in heard:
            for j in heard:
                i, o = picks.rows[k], picks.rows[j]
                if j < k:
                    upper += (right[k] - m[i]) * (right[j] - m[o]) / (len(heard) - 1)
                    lower += d[i] * d[o] / (len(heard) - 1)
    tau = max(upper / lower, 0)
    assert tau > 0.3
    whole = sum((1 - pi[k]) * d[i] / pi[k] ** 2 for k, i in enumerate(picks.rows))
    left = sum(
        (1 - pi[k]) * max(d[i] - tau * d[i] ** 2, 0) / pi[k] ** 2 for k, i in enumerate(picks.rows)
    )
    for c in range(7):
        drawn = sum(d[i] / pi[k] for k, i in enumerate(picks.rows) if label[i] == c)
        left += tau * (drawn - d[label == c].sum()) ** 2
    phi = _variance_left(m, Sample(picks.rows, right, pi), label)
    assert phi == pytest.approx(left / whole)
    # The names of the labels say nothing.
    others = rng.permutation(50)[label] - 1
    assert _variance_left(m, Sample(picks.rows, right, pi), others) == pytest.approx(phi)


@pytest.mark.parametrize(("classes", "spread"), [(6, 2.0), (30, 2.0), (30, 0.0)])
def test_the_variance_that_labels_leave_is_that_of_many_picks(classes: int, spread: float) -> None:
    place, truth = a_place(2000, seed=2, classes=classes, spread=spread)
    m = expit(0.6 * evidence(place.probability) - 0.2)
    # Residuals whose mean is zero, so that T scatters around it.
    m += np.mean(place.answer == truth) - m.mean()
    errors, said, phis = [], [], []
    for seed in range(400):
        rows, pi = pick(place, 100, seed)
        right = place.answer[rows] == truth[rows]
        phi = _variance_left(m, Sample(rows, right, pi), place.answer)
        errors.append(((right - m[rows]) / pi).sum())
        phis.append(phi)
        said.append(phi * ((1 - pi) * m[rows] * (1 - m[rows]) / pi**2).sum())
    assert np.var(errors) / np.mean(said) == pytest.approx(1, abs=0.25)
    assert (np.mean(phis) < 0.85) == (spread > 0)


def test_listening_to_everything_leaves_no_doubt() -> None:
    place, truth = a_place(300, seed=0)
    judged = Campaign(place, np.arange(300), truth, np.ones(300))
    for interval, answer in ((judged.adapted, place.answer), (judged.zero_shot, place.zero_shot)):
        assert interval == pytest.approx([np.mean(answer == truth)] * 3, abs=0.002)


def test_no_label_says_nothing() -> None:
    place, _ = a_place(100, seed=0)
    none = Campaign(place, np.empty(0, int), np.empty(0, int), np.empty(0))
    assert none.adapted[1:] == (0, 1)
    low, high = none.difference.interval[1:]
    assert high == -low == np.mean(place.answer != place.zero_shot)
    assert (none.difference.confidence, none.difference.more) == (0.5, None)


@pytest.mark.parametrize("spread", [0.0, 1.5])
@pytest.mark.parametrize("n", [30, 100])
def test_intervals_of_campaigns_hold_the_truth_and_are_narrow(n: int, spread: float) -> None:
    place, truth = a_place(2000, seed=1, classes=12, spread=spread)
    wanted = [np.mean(answer == truth) for answer in (place.answer, place.zero_shot)]
    wanted.append(wanted[0] - wanted[1])
    rows, widths = [], []
    for seed in range(400):
        picks = pick(place, n, seed)
        judged = Campaign(place, picks.rows, truth[picks.rows], picks.probability)
        intervals = (judged.adapted, judged.zero_shot, judged.difference.interval)
        rows.append([i.low <= t <= i.high for i, t in zip(intervals, wanted, strict=True)])
        widths.append([i.high - i.low for i in intervals[:2]] + [i.value for i in intervals])
    assert (np.mean(rows, axis=0) > 0.91).all()
    means = np.mean(widths, axis=0)
    simple = [2 * Z * np.sqrt(t * (1 - t) / n) for t in wanted[:2]]
    assert (means[:2] < simple).all()
    assert np.abs(means[2:] - wanted).max() < 0.02


def test_thresholds_give_the_wanted_precision() -> None:
    place, truth = a_place(4000, seed=2)
    picks = pick(place, 400)
    judged = Campaign(place, picks.rows, truth[picks.rows], picks.probability)
    limit = judged.threshold(0.9)
    assert limit is not None
    above = place.score >= limit[0]
    assert limit[1] == pytest.approx(above.mean())
    assert np.mean((place.answer == truth)[above]) == pytest.approx(0.9, abs=0.03)
    for row in judged.precisions(wanted=0.9):
        reported = (place.answer == row.label) & place.convinced
        assert row.answers == reported.sum()
        assert row.precision.low < np.mean((truth == row.label)[reported]) < row.precision.high
        assert row.threshold is not None
        assert judged.threshold(1.0) is None

"""Estimates from few labels against closed forms, brute force and simulated campaigns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from prism_audio.evaluation import sampling
from prism_audio.evaluation.check import Campaign
from prism_audio.evaluation.picking import pick
from prism_audio.evaluation.sampling import Sample, Z, accuracy, difference
from tests.helpers.campaigns import a_place


def a_sample(right: list[int], p: float = 0.8, inclusion: float = 1e-6) -> Sample:
    n = len(right)
    return Sample(np.full(n, p), np.array(right, bool), np.full(n, inclusion), np.arange(n))


@pytest.mark.parametrize("n", [5, 30, 100])
def test_equal_clips_that_are_all_right_give_the_bound_of_wilson(n: int) -> None:
    value, low, high = accuracy(np.full(1000, 0.8), a_sample([1] * n))
    z2 = Z**2 * n / (n - 1)
    assert (value, high) == (1, pytest.approx(1))
    assert low == pytest.approx(1 / (1 + z2 / n), abs=1e-6)


def test_equal_clips_give_the_interval_of_wilson() -> None:
    right = [1, 1, 0, 1, 1, 0, 1, 1, 1, 0] * 6
    n, share = len(right), 0.7
    value, low, high = accuracy(np.full(1000, 0.8), a_sample(right))
    r = np.array(right) - share
    drawn = sampling.DISPERSION_CLIPS
    phi = (np.diff(r) ** 2).sum() / (2 * (n - 1) * share * (1 - share))
    phi = (phi * n + drawn) / (n + drawn)
    z2 = Z**2 * phi * n / (n - 1)
    centre, half = share + z2 / (2 * n), np.sqrt(z2 * share * (1 - share) / n + (z2 / n) ** 2 / 4)
    wanted = ((centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n))
    assert value == pytest.approx(share, abs=1e-6)
    assert (low, high) == pytest.approx(wanted, abs=1e-6)


def test_right_and_wrong_may_be_exchanged() -> None:
    rng = np.random.default_rng(0)
    p, right = rng.random(40), rng.random(40) < 0.6
    sample = Sample(p, right, rng.uniform(0.01, 0.2, 40), np.arange(40))
    every = rng.random(500)
    value, low, high = accuracy(every, sample)
    mirrored = accuracy(1 - every, sample._replace(probability=1 - p, right=~right))
    assert mirrored == pytest.approx((1 - value, 1 - high, 1 - low), abs=1e-6)
    assert low < value < high


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


@pytest.mark.parametrize(
    ("alpha", "beta", "delta"), [(0.3, 0.1, 0.0), (0.4, 0, 0.2), (0.1, 0.3, 0.4)]
)
def test_the_variance_of_a_difference_is_that_of_the_likeliest_shares(
    alpha: float, beta: float, delta: float
) -> None:
    def cost(q: float) -> float:
        shares = np.array([q + delta, q, 1 - 2 * q - delta])
        seen = np.array([alpha, beta, 1 - alpha - beta])
        return float(-(seen * np.log(shares))[seen > 0].sum())

    top = (1 - delta) / 2 - 1e-9
    q = minimize_scalar(cost, bounds=(max(0, -delta) + 1e-12, top), method="bounded").x
    assert sampling._tango(alpha, beta, delta) == pytest.approx(2 * q + delta - delta**2, abs=1e-4)


def test_more_clips_settle_what_few_cannot() -> None:
    few = difference(0.5, np.array([1.0, 1, 1, -1, 0]), np.full(5, 0.01), 10)
    assert few.interval.low < 0 < few.interval.high
    assert 0.5 < few.confidence < 0.975
    assert few.more is not None
    times = 1 + few.more // 10
    gains = np.tile([1.0, 1, 1, -1, 0], times + 1)
    settled = difference(0.5, gains, np.full(len(gains), 0.01), 10 * (times + 1))
    assert settled.interval.low > 0
    assert settled.more == 0
    other = difference(0.5, -gains, np.full(len(gains), 0.01), 10 * (times + 1))
    assert other.interval == pytest.approx([-settled.interval[i] for i in (0, 2, 1)])
    assert other.confidence == pytest.approx(1 - settled.confidence)


@pytest.mark.parametrize("n", [30, 100])
def test_intervals_of_campaigns_hold_the_truth_and_are_narrow(n: int) -> None:
    place, truth = a_place(2000, seed=1)
    wanted = [np.mean(answer == truth) for answer in (place.answer, place.zero_shot)]
    wanted.append(wanted[0] - wanted[1])
    rows, widths = [], []
    for seed in range(150):
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

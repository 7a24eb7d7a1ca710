"""Which clips are picked: inclusion probabilities that hold, an even spread, an order that grows."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.evaluation.picking import inclusion, pick, worth
from tests.helpers.campaigns import a_place

PLACE, TRUTH = a_place(120, seed=3)


def test_clips_are_picked_as_often_as_their_probabilities_say() -> None:
    n, draws = 12, 4000
    times = np.zeros(len(PLACE))
    for seed in range(draws):
        picks = pick(PLACE, n, seed)
        assert len(set(picks.rows)) == n
        times[picks.rows] += 1
    pi = inclusion(worth(PLACE), n)
    assert abs(pi.sum() - n) < 1e-9
    # Order sampling holds its probabilities up to terms of 1/n; n is 12.
    for group in np.array_split(np.argsort(pi), 4):
        assert times[group].sum() / draws == pytest.approx(pi[group].sum(), rel=0.04)
    np.testing.assert_allclose(times / draws, pi, rtol=0.3)


def test_the_sum_of_the_weights_is_the_number_of_clips_on_the_mean() -> None:
    weights = [(1 / pick(PLACE, 20, seed).probability).sum() for seed in range(400)]
    assert abs(np.mean(weights) / len(PLACE) - 1) < 0.02


def test_a_larger_pick_goes_on_where_a_smaller_one_ended() -> None:
    small, large = pick(PLACE, 10, seed=5), pick(PLACE, 25, seed=5)
    np.testing.assert_array_equal(small.rows, large.rows[:10])
    assert (large.probability[:10] > small.probability).all()
    assert set(pick(PLACE, 10, seed=6).rows) != set(small.rows)


def test_all_clips_are_picked_where_there_are_no_more() -> None:
    picks = pick(PLACE, 500)
    assert sorted(picks.rows) == list(range(len(PLACE)))
    assert (picks.probability == 1).all()


def test_doubt_and_disagreement_are_worth_more_and_nothing_is_worth_nothing() -> None:
    u = worth(PLACE)
    differs = PLACE.answer != PLACE.zero_shot
    assert u.min() > 0.2
    assert u[differs].min() > u[~differs].min()
    order = np.argsort(np.abs(PLACE.probability[~differs] - 0.5))
    assert (np.diff(u[~differs][order]) <= 1e-12).all()


def test_every_label_gets_its_share() -> None:
    place, _ = a_place(2000, seed=1)
    pi = inclusion(worth(place), 100)
    wanted = np.bincount(place.answer, weights=pi)
    counts = [
        np.bincount(place.answer[pick(place, 100, seed).rows], minlength=len(wanted))
        for seed in range(50)
    ]
    # Independent draws would scatter with a variance of about the count itself.
    assert (np.var(np.array(counts) - wanted, axis=0) / wanted).mean() < 0.6

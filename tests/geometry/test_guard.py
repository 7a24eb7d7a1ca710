"""The guard: what it counts, how its verdict follows, and that batches which mislead do no harm."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import entropy

from prism_audio import PRISM
from prism_audio.estimator import PRESETS
from prism_audio.geometry.calibrate import calibrate
from prism_audio.geometry.guard import Verdict, effective_classes, hill, judge

from .problems import problem

DEFAULT = PRESETS["default"]


def test_hill_rises_from_nothing_through_one_half_to_one():
    x = np.linspace(0, 100, 400)
    y = np.array([hill(value, 7, 3) for value in x])
    assert y[0] == 0
    assert hill(7, 7, 3) == pytest.approx(0.5)
    assert (np.diff(y) > 0).all()
    assert y[-1] > 0.999
    for power in (1, 3, 8):  # the odds are a plain power
        assert hill(3, 7, power) / (1 - hill(3, 7, power)) == pytest.approx((3 / 7) ** power)


def test_effective_classes_is_the_exponential_of_the_entropy():
    y = np.random.default_rng(0).geometric(0.3, 500).clip(1, 9) - 1
    assert effective_classes(y, 12) == pytest.approx(np.exp(entropy(np.bincount(y))))
    assert effective_classes(np.arange(40) % 8, 10) == pytest.approx(8)
    assert effective_classes(np.full(40, 3), 10) == pytest.approx(1)


def weight(y, C):
    return judge(np.asarray(y), C).numbers["weight"]


def test_more_clips_and_more_classes_never_count_for_less():
    sizes = [weight(np.arange(n) % 10, 10) for n in range(1, 600)]
    # Uneven remainders cost a little coverage; by whole rounds of the classes it only rises.
    assert (np.diff(sizes[9::10]) >= 0).all()
    assert sizes[0] == 0
    assert sizes[-1] > 0.95
    kinds = [weight(np.arange(600) % k, 10) for k in range(1, 11)]
    assert (np.diff(kinds) >= 0).all()
    assert kinds[2] == 0


def test_a_verdict_is_a_word_that_survives_pickling():
    verdict = judge(np.arange(300) % 50, 50)
    back = pickle.loads(pickle.dumps(verdict))
    assert back == verdict == "shrunk"
    assert (back.reasons, back.numbers) == (verdict.reasons, verdict.numbers)
    with pytest.raises(ValueError, match="not 'maybe'"):
        Verdict("maybe")


@pytest.mark.parametrize("N", [3, 30, 60, 120, 1000])
def test_the_map_is_mixed_as_the_weight_says(N):
    E, T, _ = problem(N, 24, 6)
    free = calibrate(E, T, replace(DEFAULT, guard=False))
    held = calibrate(E, T, DEFAULT)
    w = held.verdict.numbers["weight"]
    assert w == weight(free.labels, 6)
    np.testing.assert_allclose(held.W, w * free.W + (1 - w) * np.eye(25, 24), atol=1e-12)
    mixed = (E @ held.W[:-1] + held.W[-1]) @ T.T
    np.testing.assert_array_equal(held.labels, mixed.argmax(axis=1))


def losses(N, kept):
    """Mean loss in accuracy on unseen clips of all classes, with the guard and without it."""
    lost = []
    for seed in range(6):
        E, T, truth = problem(3000, 64, 20, seed=seed, noise=1.2)
        train = np.flatnonzero((np.arange(3000) < 1500) & kept(truth))[:N]
        test = slice(1500, None)
        before = np.mean(np.argmax(E[test] @ T.T, axis=1) == truth[test])
        models = (PRISM(guard=guard).fit(E[train], prototypes=T) for guard in (True, False))
        lost.append([before - np.mean(m.predict(E[test]) == truth[test]) for m in models])
    return np.mean(lost, axis=0)


def test_where_the_batch_is_good_the_guard_takes_nothing_away():
    guarded, unguarded = losses(1500, lambda y: y < 20)
    assert guarded < unguarded + 0.01
    assert guarded < -0.05

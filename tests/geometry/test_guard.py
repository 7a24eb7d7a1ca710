"""The guard: what it counts, how its verdict follows, and that batches which mislead do no harm."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import entropy

from prism_audio import PRISM
from prism_audio.geometry import calibrate as loop
from prism_audio.geometry import guard
from prism_audio.geometry.abr import second_moments
from prism_audio.geometry.calibrate import calibrate
from prism_audio.geometry.guard import (
    Verdict,
    effective_classes,
    hill,
    judge,
    lower_end,
)
from prism_audio.geometry.source import InMemory
from prism_audio.model.estimator import PRESETS
from tests.helpers.problems import problem, unit

DEFAULT = PRESETS["default"]


def half_maps(E, T, params):
    return loop.half_maps(InMemory(E), T, params)


def reliability(E, T, *maps):
    return guard.reliability(InMemory(E), T, *maps)


def test_hill_rises_from_nothing_through_one_half_to_one():
    x = np.linspace(0, 100, 400)
    y = np.array([hill(value, 7, 3) for value in x])
    assert y[0] == 0
    assert hill(7, 7, 3) == pytest.approx(0.5)
    assert (np.diff(y) > 0).all()
    assert y[-1] > 0.999
    for power in (1, 3, 8):  # the odds are a plain power
        assert hill(3, 7, power) / (1 - hill(3, 7, power)) == pytest.approx((3 / 7) ** power)


def test_effective_classes_is_the_exponential_of_the_corrected_entropy():
    y = np.random.default_rng(0).geometric(0.3, 500).clip(1, 9) - 1
    counts = np.bincount(y)
    corrected = entropy(counts) + (np.sum(counts > 0) - 1) / 1000
    assert effective_classes(y, 12) == pytest.approx(np.exp(corrected))
    assert effective_classes(np.arange(40) % 10, 10) == 10
    assert effective_classes(np.full(40, 3), 10) == pytest.approx(1)


def test_few_draws_of_all_classes_are_told_from_draws_of_few():
    rng = np.random.default_rng(0)
    of_all = np.mean([effective_classes(rng.integers(50, size=100), 50) for _ in range(20)])
    of_half = np.mean([effective_classes(rng.integers(25, size=100), 50) for _ in range(20)])
    assert of_all > 0.9 * 50
    assert of_half < 0.52 * 50


def weight(y, C, reliability=1.0):
    return judge(np.asarray(y), C, reliability).numbers["weight"]


def test_more_classes_and_more_agreement_never_count_for_less():
    kinds = [weight(np.arange(600) % k, 10) for k in range(1, 11)]
    assert (np.diff(kinds) >= 0).all()
    assert kinds[2] == 0
    assert kinds[-1] > 0.95
    shared = [weight(np.arange(600) % 10, 10, r) for r in np.linspace(0, 1, 20)]
    assert (np.diff(shared) > 0).sum() == 19
    assert shared[0] == 0


def test_the_word_follows_the_weight():
    y = np.arange(300) % 50
    words = [str(judge(y, 50, r)) for r in (0.0, 0.3, 0.95)]
    assert words == ["zero-shot", "shrunk", "adapted"]
    assert judge(np.zeros(300, dtype=np.intp), 50, 0.95) == "zero-shot"
    assert any("1 of the 50" in reason for reason in judge(y * 0, 50, 0.95).reasons)
    assert all(judge(y, 50, r).reasons for r in (0.0, 0.3, 0.72, 0.95))


def test_a_verdict_is_a_word_that_survives_pickling():
    verdict = judge(np.arange(300) % 50, 50, 0.5)
    back = pickle.loads(pickle.dumps(verdict))
    assert back == verdict == "shrunk"
    assert (back.reasons, back.numbers) == (verdict.reasons, verdict.numbers)
    with pytest.raises(ValueError, match="not 'maybe'"):
        Verdict("maybe")


def test_the_lower_end_of_a_correlation():
    rng = np.random.default_rng(0)
    for true, n in ((0.8, 40), (0.5, 100)):
        cov = [[1, true], [true, 1]]
        found = [np.corrcoef(rng.multivariate_normal([0, 0], cov, n).T)[0, 1] for _ in range(2000)]
        below = np.mean([lower_end(r, n) < true for r in found])
        assert below > 0.99, "three standard errors: 99.9 of a hundred"
        assert np.mean([lower_end(r, n) for r in found]) > 0.2
    assert lower_end(1.0, 3) == lower_end(-0.5, 1000) == 0
    assert lower_end(1.0, 12) < lower_end(1.0, 1000) < 1


def affine(rng, d, size):
    return np.eye(d + 1, d) + size * rng.standard_normal((d + 1, d))


def test_reliability_is_the_correlation_of_two_corrections():
    rng = np.random.default_rng(0)
    E, T = unit(rng.standard_normal((5000, 12))), unit(rng.standard_normal((4, 12)))
    maps = [affine(rng, 12, 0.1), affine(rng, 12, 0.1)]
    maps[1] = 0.5 * (maps[0] + maps[1])

    def centred(W):
        S = (E @ W[:-1] + W[-1]) @ T.T
        S -= S.mean(axis=1, keepdims=True)
        return S / np.linalg.norm(S)

    plain = centred(np.eye(13, 12))
    a, b = (centred(W) - plain for W in maps)
    r = np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)
    r_low = lower_end(r, 2500)
    assert reliability(E, T, *maps) == pytest.approx(2 * r_low / (1 + r_low))
    assert 0.3 < r < 0.95


def test_a_clip_that_came_twice_counts_once():
    E, T, _ = problem(60, 12, 4)
    maps = [affine(np.random.default_rng(0), 12, 0.1)] * 2
    assert reliability(np.repeat(E, 20, axis=0), T, *maps) == pytest.approx(
        reliability(E, T, *maps)
    )
    assert reliability(E, T, *maps) < reliability(problem(1200, 12, 4)[0], T, *maps)


def test_where_nothing_is_corrected_nothing_is_reliable():
    E, T, _ = problem(200, 12, 4)
    assert reliability(E, T) == 0
    assert reliability(E, T, np.eye(13, 12), np.eye(13, 12)) == 0
    assert reliability(E, T, np.zeros((13, 12)), np.eye(13, 12)) == 0


def test_noise_is_not_reliable_and_a_shift_of_the_place_is():
    """Isotropic rows without classes against classes that a place has moved."""
    moved, T, _ = problem(240, 48, 6, noise=0.6)
    noise = unit(np.random.default_rng(0).standard_normal(moved.shape))
    found = [reliability(E, T, *half_maps(E, T, DEFAULT)) for E in (noise, moved)]
    assert found[0] < 0.4
    assert found[1] > 0.7


def test_the_halves_do_not_depend_on_the_order_of_the_rows():
    E, T, _ = problem(120, 16, 4)
    order = np.random.default_rng(1).permutation(120)
    for W, again in zip(half_maps(E, T, DEFAULT), half_maps(E[order], T, DEFAULT), strict=True):
        np.testing.assert_allclose(W, again, atol=1e-10)
    assert half_maps(E[:3], T, DEFAULT) == []


@pytest.mark.parametrize("N", [3, 30, 60, 120, 1000])
def test_the_map_is_mixed_as_the_weight_says(N):
    E, T, _ = problem(N, 24, 6)
    free = calibrate(E, T, replace(DEFAULT, guard=False))
    held = calibrate(E, T, DEFAULT)
    w = held.verdict.numbers["weight"]
    heard = loop.heard_labels(InMemory(E), T, second_moments(InMemory(E)), DEFAULT)
    assert w == weight(heard, 6, reliability(E, T, *half_maps(E, T, DEFAULT)))
    np.testing.assert_allclose(held.W, w * free.W + (1 - w) * np.eye(25, 24), atol=1e-12)
    mixed = (E @ held.W[:-1] + held.W[-1]) @ T.T
    np.testing.assert_array_equal(held.labels, mixed.argmax(axis=1))


@pytest.mark.parametrize("classes", [1, 2, 8])
def test_halves_are_asked_only_where_their_answer_matters(classes):
    E, T, y = problem(600, 48, 8)
    verdict = calibrate(E[y < classes], T, DEFAULT).verdict
    assert ("reliability" in verdict.numbers) == (classes == 8)
    assert (verdict == "zero-shot") == (classes < 8)


def test_of_several_labellings_the_mean_entropy_counts():
    few, many = np.arange(600) % 2, np.arange(600) % 8
    a, b, both = (effective_classes(y, 10) for y in (few, many, np.stack([few, many])))
    assert both == pytest.approx(np.sqrt(a * b))


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
        (100, 20, 0.6, 1.0),
        (60, 1, 0.6, 1.5),
        (200, 3, 1.2, 0.0),
        (300, 6, 0.6, 1.0),
        (200, 3, 0.6, 1.0),
    ],
    ids=["20 clips", "blurred", "1 class", "3 classes", "6 blurred", "3 blurred"],
)
def test_a_batch_that_misleads_does_no_harm(N, kept, noise, blur):
    guarded, bare = losses(N, kept, noise, blur, guard=False, prior_clips=0.0)
    assert guarded < 0.01
    assert bare > 0.05, "without guard and prior this batch destroys the classifier"


def test_where_the_batch_is_good_the_guard_takes_little_away():
    guarded, unguarded = losses(1200, 20, 1.2, guard=False)
    assert guarded < unguarded + 0.02
    assert guarded < -0.2

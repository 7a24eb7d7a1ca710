"""The gradients that were worked out by hand, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.methods import make
from prism_audio.methods.affine import Adam, Scores, identity
from prism_audio.methods.conmix_affine import consistency_slope, pseudo_slope, rank_slope
from prism_audio.methods.tent_affine import entropy_slope
from tests.helpers.shift import shifted

RNG = np.random.default_rng(0)
N, d, C = 30, 12, 5
Y = RNG.integers(0, C, N)
P = RNG.dirichlet(np.ones(C), N)


def softmax(L):
    e = np.exp(L - L.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def entropy_loss(L):
    p = softmax(L)
    return -np.sum(p * np.log(p)) / len(L)


def pseudo_loss(L):
    return -np.mean(np.log(softmax(L)[np.arange(len(L)), Y]))


def consistency_loss(L):
    return np.sum(P * (np.log(P) - np.log(softmax(L)))) / len(L)


def rank_loss(L):
    return -np.linalg.svd(softmax(L), compute_uv=False).sum() / len(L)


PAIRS = [
    (entropy_loss, entropy_slope),
    (pseudo_loss, lambda L: pseudo_slope(L, Y)),
    (consistency_loss, lambda L: consistency_slope(L, P)),
    (rank_loss, rank_slope),
]


def differences(f, x, h=1e-6):
    g = np.empty_like(x)
    for j in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[j] = h
        g[j] = (f(x + step) - f(x - step)) / (2 * h)
    return g


@pytest.mark.parametrize(("loss", "slope"), PAIRS)
def test_slopes_of_the_losses(loss, slope):
    L = 2 * RNG.standard_normal((N, C))
    np.testing.assert_allclose(slope(L), differences(loss, L), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("loss", "slope"), PAIRS)
def test_gradients_of_the_map(loss, slope):
    E, T, _, _ = shifted(N, d, C)
    at = np.stack([RNG.uniform(0.5, 1.5, d), 0.3 * RNG.standard_normal(d)])

    def value(x):
        X = x[0] * E + x[1] / np.sqrt(d)
        return loss(20 * (X / np.linalg.norm(X, axis=1, keepdims=True)) @ T.T)

    scores = Scores(E, T, 20.0)
    gradient = scores.gradient(at, slope)
    np.testing.assert_allclose(gradient, differences(value, at), rtol=1e-5, atol=1e-8)
    assert np.isclose(loss(scores.logits(at)), value(at))
    np.testing.assert_allclose(20 * scores.rows(at) @ T.T, scores.logits(at))
    A, b = scores.head(at)
    assert np.array_equal((E @ A + b).argmax(axis=1), scores.logits(at).argmax(axis=1))


def test_the_nuclear_norm_of_predictions_that_are_all_alike():
    L = np.tile(RNG.standard_normal(C), (N, 1))
    assert np.isfinite(rank_slope(L)).all()


def test_adam_finds_the_bottom_of_a_bowl():
    goal = RNG.standard_normal((2, 3))
    at, adam = np.zeros((2, 3)), Adam(0.05)
    for _ in range(500):
        at = adam.step(at, (at - goal) * [[1], [10]])
    np.testing.assert_allclose(at, goal, atol=1e-3)


def test_tent_lowers_the_entropy_and_conmix_spreads_the_predictions():
    E, T, _, _ = shifted(300, 40, 6, seed=1)
    scores = Scores(E, T, 100.0)
    before = scores.logits(identity(40))
    tent, conmix = make("tent_affine").train(scores), make("conmix_affine").train(scores)
    assert entropy_loss(scores.logits(tent)) < entropy_loss(before)
    assert rank_loss(scores.logits(conmix)) < rank_loss(before)

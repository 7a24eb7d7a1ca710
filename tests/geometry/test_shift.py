"""The shift of a place: against a plain transcription, and that it is told from what was heard."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from scipy.special import logsumexp, softmax
from scipy.stats import ortho_group

from prism_audio.geometry import shift as module
from prism_audio.geometry.shift import find_shift
from tests.helpers.problems import problem, unit

SOFTNESS = 0.12


def transcription(E, T, clips):
    """The mixture row by row and class by class, in the directions in which prototypes differ."""
    N, C = len(E), len(T)
    B = T - T.mean(axis=0)
    V = linalg.orth(B.T, rcond=1e-6)
    z, t, q = E @ V, B @ V, V.shape[1]
    half = np.array([t_c @ t_c for t_c in t]) / 2
    d_0 = -linalg.pinv(t) @ (half - half.mean())
    scores = (z - z.mean(axis=0)) @ t.T
    unit_length = np.sqrt(np.mean([row @ row for row in scores]))
    r, d = softmax(scores / (SOFTNESS * unit_length), axis=1), z.mean(axis=0)
    for _ in range(module.ITERATIONS):
        b = sum(r[i, c] * (z[i] - d) @ t[c] for i in range(N) for c in range(C))
        b /= sum(r[:, c].sum() * 2 * half[c] for c in range(C))
        found = np.mean([z[i] - b * r[i] @ t for i in range(N)], axis=0)
        away = [[np.sum((z[i] - found - b * t[c]) ** 2) for c in range(C)] for i in range(N)]
        variance = np.sum(r * away) / (N * q)
        v = (0.4 * b) ** 2 * np.mean(2 * half)
        d = b * d_0 + v / (v + variance / clips) * (found - b * d_0)
        away = np.array([[np.sum((z[i] - d - b * t[c]) ** 2) for c in range(C)] for i in range(N)])
        logits = -away / (2 * variance) - q / 2 * np.log(2 * np.pi * variance)
        r = softmax(logits, axis=1)
    pi = (r.sum(axis=0) * clips / N + 1) / (clips + C)
    logits += np.log(pi)
    r = softmax(logits, axis=1)
    spread = np.sum((z - z.mean(axis=0)) ** 2) / (N * q)
    one = -N * q / 2 * (np.log(2 * np.pi * spread) + 1)
    L = (logsumexp(logits, axis=1).sum() - one) * clips / N
    L -= np.sum((d - b * d_0) ** 2) / (2 * v)
    # Noise with up to six long directions may be the better one, in either model.
    for sign, x in ((-1, z), (1, z - b * r @ t)):
        values = np.sort(linalg.eigvalsh(np.atleast_2d(np.cov(x.T, bias=True))))[::-1]
        criteria = []
        for k in range(min(6, q - 1) + 1):
            shape = [*values[:k], *[values[k:].mean()] * (q - k)]
            parameters = sum(q - j for j in range(k))
            criteria.append(-clips / 2 * np.sum(np.log(shape)) - parameters / 2 * np.log(clips))
        L += sign * (max(criteria) - criteria[0])
    ordinary = q * (0.08 * b) ** 2 * np.mean(2 * half)
    part = max(1 - ordinary / np.sum((d - b * d_0) ** 2), 0)
    return part * V @ (d - b * d_0), pi, L, r


@pytest.mark.parametrize("shape", [(60, 12, 4), (40, 24, 6), (30, 64, 10), (50, 8, 2)], ids=str)
@pytest.mark.parametrize("worth", [1.0, 0.5])
def test_it_is_the_mixture_that_it_says_it_is(shape, worth):
    E, T, _ = problem(*shape)
    vector, pi, L, r = transcription(E, T, worth * len(E))
    got = find_shift(E, T, SOFTNESS, worth * len(E))
    np.testing.assert_allclose(got.vector, vector, atol=1e-8)
    np.testing.assert_allclose(got.shares, pi, atol=1e-8)
    assert got.evidence == pytest.approx(L, rel=1e-6)
    np.testing.assert_allclose(softmax(E @ got.head[:-1] + got.head[-1], axis=1), r, atol=1e-6)
    assert got.cost == pytest.approx(len(T) / 2 * np.log(worth * len(E)))
    spare = max(L / got.cost - 1, 0)
    assert got.weight(0.0) == pytest.approx(spare**2 / (1 + spare**2))
    spare = max(3 * L / (len(T) / 2 * np.log(3 * worth * len(E))) - 0.5, 0)
    assert got.weight(0.5, more=3) == pytest.approx(spare**2 / (1 + spare**2))


def clouds(N, shares, seed=0, d=32, C=6, push=0.0, blur=0.08):
    """Clips around their texts, moved by one vector in the span of the text."""
    rng = np.random.default_rng(seed)
    T = unit(rng.standard_normal((C, d)))
    y = rng.choice(C, N, p=np.asarray(shares) / np.sum(shares))
    g = unit(rng.standard_normal((1, C)) @ (T - T.mean(axis=0)))[0]
    E = 0.5 * T[y] + push * g + blur * rng.standard_normal((N, d))
    return unit(E), T, y


@pytest.mark.parametrize("shares", [np.ones(6), 1 / np.arange(1, 7), [1, 1, 0, 0, 0, 0]])
def test_a_common_vector_is_found_whatever_the_shares(shares):
    E, T, y = clouds(240, shares, push=0.6)
    got = find_shift(E, T, SOFTNESS, 240)
    before, after = (np.mean(np.argmax(X @ T.T, axis=1) == y) for X in (E, E - got.vector))
    assert before < 0.8
    assert after > 0.97
    assert got.weight(0.0) > 0.8


def test_a_dozen_clips_are_enough():
    right = []
    for seed in range(5):
        E, T, y = clouds(1012, np.ones(6), seed, push=0.6)
        got = find_shift(E[:12], T, SOFTNESS, 12)
        taken_off = got.weight(0.0) * got.vector
        right.append(
            [np.mean(np.argmax(X @ T.T, axis=1)[12:] == y[12:]) for X in (E, E - taken_off)]
        )
    before, after = np.mean(right, axis=0)
    assert after > before + 0.1


@pytest.mark.parametrize("N", [16, 64, 400])
def test_one_class_speaks_for_no_shift(N):
    weights = []
    for seed in range(5):
        E, T, _ = clouds(N, [1, 0, 0, 0, 0, 0], seed)
        weights.append(find_shift(E, T, SOFTNESS, N).weight(0.0))
    assert np.max(weights) < 0.1
    assert np.mean(weights) < 0.02


@pytest.mark.parametrize("a", [0.2, 0.4, 0.8])
def test_a_class_bias_is_taken_off(a):
    """A vector towards one class, which zero-shot then gives every clip."""
    E, T, y = clouds(300, np.ones(6))
    biased = unit(E + a * T[0])
    got = find_shift(biased, T, SOFTNESS, 300)
    assert np.mean(np.argmax((biased - got.weight(0.0) * got.vector) @ T.T, axis=1) == y) > 0.97


def test_order_of_rows_and_classes_and_a_turn_of_the_space_do_not_matter():
    E, T, _ = problem(80, 16, 5)
    plain = find_shift(E, T, SOFTNESS, 80)
    rows, classes = np.random.default_rng(0).permutation(80), np.array([3, 1, 4, 0, 2])
    Q = ortho_group.rvs(16, random_state=0)
    for got, turn, order in (
        (find_shift(E[rows], T, SOFTNESS, 80), np.eye(16), np.arange(5)),
        (find_shift(E, T[classes], SOFTNESS, 80), np.eye(16), classes),
        (find_shift(E @ Q, T @ Q, SOFTNESS, 80), Q, np.arange(5)),
    ):
        np.testing.assert_allclose(got.vector, plain.vector @ turn, atol=1e-9)
        np.testing.assert_allclose(got.shares, plain.shares[order], atol=1e-9)
        assert got.weight(0.0) == pytest.approx(plain.weight(0.0))


def test_clips_that_came_ten_times_count_once():
    E, T, _ = problem(40, 16, 5)
    once, often = (
        find_shift(E, T, SOFTNESS, 40),
        find_shift(np.repeat(E, 10, axis=0), T, SOFTNESS, 40),
    )
    np.testing.assert_allclose(often.vector, once.vector, atol=1e-8)
    assert often.weight(0.0) == pytest.approx(once.weight(0.0))
    assert find_shift(np.repeat(E, 10, axis=0), T, SOFTNESS, 400).weight(0.0) > once.weight(0.0)


def test_where_nothing_can_be_told_apart_there_is_none():
    E, T, _ = problem(40, 16, 3)
    assert find_shift(E, T[:1], SOFTNESS, 40) is None
    assert find_shift(E, np.tile(T[:1], (3, 1)), SOFTNESS, 40) is None
    assert find_shift(E[:3], T, SOFTNESS, 3) is None
    assert find_shift(np.tile(E[:1], (40, 1)), T, SOFTNESS, 40) is None

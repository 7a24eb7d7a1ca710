"""The graded calibration: what it is made of, and that it serves clips few and many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import entropy, ortho_group
from sklearn.metrics import cohen_kappa_score

from prism_audio import PRISM
from prism_audio.geometry import compose, graded
from prism_audio.geometry.abr import second_moments
from prism_audio.geometry.balance import balanced_head
from prism_audio.geometry.calibrate import calibrate
from prism_audio.geometry.frame import find_frame
from prism_audio.geometry.neighbours import ask_neighbours
from prism_audio.geometry.repeats import find_repeats, independent_clips
from prism_audio.geometry.shift import find_shift
from prism_audio.geometry.source import InMemory
from prism_audio.model.presets import PRESETS
from tests.helpers.problems import problem, unit

DEFAULT = PRESETS["default"]
FIRST = graded.FIRST * DEFAULT.softness


def by_hand(E, T):
    """Every part on its own, the rounds one start after the other."""
    C, second = len(T), second_moments(InMemory(E))
    repeats = find_repeats(E)
    clips = independent_clips(repeats, len(E))
    shift, frame = find_shift(E, T, FIRST, clips), find_frame(second, E.dtype)
    ends = []
    for part, head in ((0.5, shift.head), (-1, balanced_head(E, T, FIRST))):
        for _ in range(DEFAULT.rounds):
            S = E @ head[:-1] + head[-1]
            R = np.exp(S - S.max(axis=1, keepdims=True))
            R /= R.sum(axis=1, keepdims=True)
            shares = compose.Shares(R.sum(axis=0), R.T @ E)
            made = compose.compose(shares, frame, T @ frame.Q, rho=2.0, prior=np.sqrt(C / clips))
            temperature = DEFAULT.softness * compose.score_length(made.head, second)
            bias = part * np.log(shares.n_c + 0.5)
            made.head[-1] += temperature * (bias - bias.mean())
            head = made.head / temperature
        ends.append((made, np.argmax(E @ head[:-1] + head[-1], axis=1)))
    (made_a, y_a), (made_b, y_b) = ends
    y_1, y_0 = (np.argmax((E - by) @ T.T, axis=1) for by in (shift.vector, 0))
    most = C * (1 - np.exp(-clips / C))
    h, h_1 = (min(np.exp(entropy(n)) / most, 1.0) for n in (np.bincount(y_a), shift.shares))
    P = h * h_1
    pairs = ((y_a, y_b), (y_a, y_1), (y_b, y_1), (y_0, y_1), (y_0, y_b))
    A, D_1a, D_1b, D_01, D_0b = (1 - max(cohen_kappa_score(*pair), 0) for pair in pairs)
    D = 0.2 + np.sqrt(D_1a * D_1b)
    near = ask_neighbours(repeats.likeness, repeats.first, [y_a, y_b], C)
    o_a, o_b = (((found.agreement + 0.05) / (1.05 - found.agreement)) ** 4 for found in near)
    g = 1 / (1 + (1 - h) / h * o_a / o_b)
    x = max(shift.evidence / shift.cost - 1 + near[1].evidence, 0)
    w_1 = x**2 / (1 + x**2)
    u = w_1 * np.clip((D_0b + D_01 - D_1b + 0.02) / (2 * D_01 + 0.02), 0, 1) ** 2
    c = P**6 / (P**6 + (1 - P) ** 6)
    w = w_1 * c * D**3 / (D**3 + A**3) * clips / (clips + C + 32)
    W_1 = np.eye(E.shape[1] + 1, E.shape[1])
    W_1[-1] = -u * shift.vector
    W_a, W_b = (graded.whole_map(made, T, second) for made in (made_a, made_b))
    return (1 - w) * W_1 + w * (g * W_b + (1 - g) * W_a), w


@pytest.mark.parametrize("shape", [(300, 24, 6), (80, 64, 5), (60, 96, 4), (900, 32, 10)], ids=str)
def test_the_map_is_mixed_of_shift_and_composition(shape):
    E, T, _ = problem(*shape)
    W, w = by_hand(E, T)
    got = calibrate(E, T, DEFAULT)
    assert got.verdict.numbers["weight"] == pytest.approx(w, abs=1e-9)
    np.testing.assert_allclose(got.W, W, atol=1e-7)
    np.testing.assert_array_equal(got.labels, np.argmax((E @ W[:-1] + W[-1]) @ T.T, axis=1))


def test_a_batch_with_missing_classes_is_not_spread_over_the_whole_list():
    """Seven of ten wide classes are heard; rounds that even them out would give clips to the others."""
    gains, even, part = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        T = unit(rng.standard_normal((10, 64)) + 2 * rng.standard_normal(64))
        y = np.repeat(np.arange(7), 30)
        means = unit(T - T.mean(axis=0) + 0.6 * unit(rng.standard_normal((10, 64))))
        place = unit(rng.standard_normal((1, 64)))
        E = unit(means[y] + 0.5 * place + 1.5 * rng.standard_normal((210, 64)) / 8)
        got = calibrate(E, T, DEFAULT)
        gains.append(np.mean(got.labels == y) - np.mean(np.argmax(E @ T.T, axis=1) == y))
        even.append(got.verdict.numbers["evenness"])
        part.append(got.verdict.numbers["coverage"])
    assert np.mean(gains) > 0.06
    assert (np.array(even) < np.array(part) - 0.2).all()


@pytest.mark.parametrize("C", [3, 10, 30])
def test_the_whole_map_has_the_scores_of_its_head(C):
    E, T, truth = problem(400, 24, C)
    second, R = second_moments(InMemory(E)), np.eye(C)[truth]
    shares = compose.Shares(R.sum(axis=0), R.T @ E)
    frame = find_frame(second, E.dtype)
    made = compose.compose(shares, frame, T @ frame.Q, rho=2.0, prior=0.2)
    W = graded.whole_map(made, T, second)
    lengths = [compose.score_length(X, second) for X in (np.eye(25, 24) @ T.T, W @ T.T)]
    assert lengths[0] == pytest.approx(lengths[1])
    if C <= 24:  # more prototypes than directions cannot each have a score of their own
        ratio = (W @ T.T) / made.head
        np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)


def test_prototypes_that_are_the_same_get_the_same_scores():
    E, T, _ = problem(300, 24, 5)
    T = np.vstack([T, T[:1]])
    model = PRISM().fit(E, prototypes=T)
    S = model.decision_function(E)
    np.testing.assert_allclose(S[:, 0], S[:, 5], atol=1e-6)
    assert np.isfinite(model.adapter_.W).all()


def right(model, E, y):
    return np.mean(model.predict(E) == y)


def test_it_improves_from_the_first_dozen_clips_on():
    gains = []
    for seed in range(6):
        E, T, y = problem(2000, 48, 6, seed=seed, noise=1.0)
        E = unit(E + 0.5 * T[seed % 6])  # a place that sounds like one of the classes
        before = np.mean(np.argmax(E[1000:] @ T.T, axis=1) == y[1000:])
        models = [PRISM().fit(E[:n], prototypes=T) for n in (16, 64, 1000)]
        gains.append([right(model, E[1000:], y[1000:]) - before for model in models])
    some, more, most = np.mean(gains, axis=0)
    assert 0.02 < some < more < most


@pytest.mark.parametrize("a", [0.2, 0.4, 0.8])
def test_a_class_bias_costs_nothing(a):
    E, T, y = problem(1200, 48, 8, noise=0.5)
    biased = unit(E + a * T[3])
    plain, moved = (PRISM().fit(X[:600], prototypes=T) for X in (E, biased))
    assert right(moved, biased[600:], y[600:]) > right(plain, E[600:], y[600:]) - 0.03


@pytest.mark.parametrize("N", [16, 60])
def test_a_batch_of_one_class_keeps_its_class(N):
    E, T, y = problem(3000, 48, 8, noise=0.5)
    for c in range(8):
        batch = E[y == c][:N]
        before = np.mean(np.argmax(batch @ T.T, axis=1) == c)
        model = PRISM().fit(batch, prototypes=T)
        assert np.mean(model.labels_ == c) >= before - 0.02


def test_order_of_rows_and_classes_and_a_turn_of_the_space_do_not_matter():
    E, T, _ = problem(300, 24, 5)
    labels = calibrate(E, T, DEFAULT).labels
    rows, classes = np.random.default_rng(0).permutation(300), np.array([3, 1, 4, 0, 2])
    Q = ortho_group.rvs(24, random_state=0)
    np.testing.assert_array_equal(calibrate(E[rows], T, DEFAULT).labels, labels[rows])
    np.testing.assert_array_equal(classes[calibrate(E, T[classes], DEFAULT).labels], labels)
    np.testing.assert_array_equal(calibrate(unit(E @ Q), unit(T @ Q), DEFAULT).labels, labels)


def test_it_remembers_less_of_the_batch_than_regression():
    """The reason for composing: clips of the same place that it has not seen are labelled as well."""
    found = []
    for seed in range(4):
        E, T, truth = problem(1500, 96, 6, seed=seed)
        E = unit(E + np.random.default_rng(seed).standard_normal(E.shape) / np.sqrt(96))
        for compilation in ("composition", "regression"):
            params = replace(DEFAULT, guard=False, compilation=compilation)
            W = calibrate(E[:120], T, params).W
            hit = ((E @ W[:-1] + W[-1]) @ T.T).argmax(axis=1) == truth
            found.append([np.mean(hit[:120]), np.mean(hit[120:])])
    (batch, unseen), (batch_r, unseen_r) = np.reshape(found, (4, 2, 2)).mean(axis=0)
    assert unseen > unseen_r + 0.02
    assert batch - unseen < batch_r - unseen_r

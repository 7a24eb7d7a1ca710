"""The composed map against a plain transcription, and what its parts promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg
from scipy.special import softmax
from scipy.stats import ortho_group

from prism_audio.geometry import compose as core
from prism_audio.geometry.abr import second_moments
from prism_audio.geometry.calibrate import FIRST, HARD, calibrate, heard_labels
from prism_audio.geometry.compose import towards_identity, with_text
from prism_audio.geometry.opca import closest_rotation, rotation
from prism_audio.geometry.source import InMemory
from prism_audio.model.estimator import PRESETS
from tests.helpers.problems import SHAPES, problem, unit


def held(E, R):
    """What classes hold of rows with assignments ``R`` (N, C)."""
    return core.Mixture(core.Shares(R.sum(axis=0), R.T @ E), R.T @ R)


def compose(E, T, R, **numbers):
    """The map for rows with assignments ``R`` (N, C), or labels (N,)."""
    R = np.eye(len(T))[R] if R.ndim == 1 else R
    extended = np.column_stack([E, np.ones(len(E))])
    shares = held(E, R).shares
    return core.compose(shares, shares.means, extended.T @ extended, T, **numbers).W


def score_length(X, T):
    """Root of the mean square length of scores, centred over the classes."""
    S = X @ T.T
    return np.sqrt(np.mean(np.sum((S - S.mean(axis=1, keepdims=True)) ** 2, axis=1)))


def transcription(E, T, R, rho, eps, prior, doubt=1.0):
    """Whiten, rotate the class means onto the text, scale, shift: every step on full matrices."""
    C, d = T.shape
    n = R.sum(axis=0)
    means = np.array([R[:, c] @ E / n[c] if n[c] else np.zeros(d) for c in range(C)])
    S_W = sum((E - means[c]).T @ (R[:, c, None] * (E - means[c])) for c in range(C))
    between = sum(
        n[c] * np.outer(means[c] - E.mean(axis=0), means[c] - E.mean(axis=0)) for c in range(C)
    )
    S_W = S_W + min(prior, 1) * between
    values, n_rows = linalg.eigvalsh(S_W), n.sum() - np.sum(n >= 0.5)
    error = (np.sum(values**2) + np.sum(values) ** 2) / (n_rows * d * np.var(values))
    floor = rho * min(np.sqrt(error), 1.0) * np.mean(values)
    G = linalg.inv(linalg.sqrtm(S_W + floor * np.eye(d)).real)
    G *= np.sqrt(d) / linalg.norm(G)
    # The mixtures: E is seen as R means, and with all doubt as one class a clip.
    rows = [np.sqrt(1 - doubt) * R, np.diag(np.sqrt(doubt * n))]
    wanted = [np.sqrt(1 - doubt) * E, np.sqrt(doubt * n)[:, None] * means]
    means = linalg.lstsq(np.vstack(rows), np.vstack(wanted))[0]
    # The text stands for half a clip of every class, on the line through the means seen.
    w = n / (n + 0.5)
    m, t = np.average(means, axis=0, weights=w), np.average(T, axis=0, weights=w)
    dots = [np.dot(means[c] - m, T[c] - t) for c in range(C)]
    b = np.dot(w, dots) / np.dot(w, np.sum((T - t) ** 2, axis=1))
    M_n = np.array(
        [(n[c] * means[c] + 0.5 * (m + b * (T[c] - t))) / (n[c] + 0.5) for c in range(C)]
    )
    M_n = M_n @ G
    A, B = M_n - M_n.mean(axis=0), T - T.mean(axis=0)
    kappa = prior * linalg.norm(A) * linalg.norm(B) / (C - 1)
    turn = linalg.polar(A.T @ B + kappa * np.eye(d))[0]
    s = linalg.norm(B) / (linalg.norm(A) + eps)
    X = s * (E @ G - M_n.mean(axis=0)) @ turn + T.mean(axis=0)
    return X * score_length(E, T) / score_length(X, T)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("rho", "prior"), [(0.3, 0.2), (1.0, 1.0), (5.0, 4.0)])
def test_the_composition_is_the_product_of_its_parts(shape, rho, prior):
    E, T, truth = problem(*shape)
    R = np.eye(len(T))[np.where(np.arange(len(E)) % 5, truth, 0)]  # labels with mistakes
    if len(T) > 2:
        R[:, 1] += R[:, -1]
        R[:, -1] = 0  # and a class without clips
    R[::3] = 0.7 * R[::3] + 0.3 * R[1 % len(E)]  # some clips are shared between two classes
    W = compose(E, T, R, rho=rho, eps=1e-4, prior=prior)
    got, wanted = E @ W[:-1] + W[-1], transcription(E, T, R, rho, 1e-4, prior)
    np.testing.assert_allclose(got, wanted, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_rounds_repeat_it_from_soft_assignments(shape):
    E, T, _ = problem(*shape)
    params = replace(PRESETS["default"], guard=False)
    W = calibrate(E, T, params).W
    X, prior = E, np.sqrt(params.prior_clips * len(T) / len(E))
    for r in range(params.rounds):
        h = params.softness * (1 if r else FIRST)
        R = softmax(X @ T.T / (h * score_length(E, T)), axis=1)
        doubt = 1 if r else min(prior**2, 1)
        X = transcription(E, T, R, params.rho, params.eps, prior, doubt)
    np.testing.assert_allclose(E @ W[:-1] + W[-1], X, atol=1e-6)


def test_soft_assignments_mend_mistakes_that_hard_ones_keep():
    """The reason they are soft."""
    right = []
    for seed in range(6):
        E, T, truth = problem(400, 128, 20, seed=seed, noise=2.0)
        for softness in (PRESETS["default"].softness, HARD):
            params = replace(PRESETS["default"], guard=False, softness=softness)
            right.append(np.mean(calibrate(E, T, params).labels == truth))
    soft, hard = np.reshape(right, (6, 2)).mean(axis=0)
    assert soft > hard + 0.05


def test_soft_rounds_hear_classes_that_are_not_there_and_hard_ones_do_not():
    """Why the guard asks both."""
    E, T, truth = problem(2000, 32, 10)
    source = InMemory(E[truth < 2])
    hard, soft = heard_labels(source, T, second_moments(source), PRESETS["default"])
    assert np.mean(hard < 2) > np.mean(soft < 2) + 0.1
    assert np.mean(hard < 2) > 0.85


def test_clips_that_are_mixtures_tell_what_they_mix():
    rng = np.random.default_rng(0)
    means, R = rng.standard_normal((5, 8)), rng.dirichlet(np.full(5, 0.5), 400)
    mixture = held(R @ means, R)
    np.testing.assert_allclose(mixture.means(1e-9), means, atol=1e-6)
    assert linalg.norm(mixture.shares.means - means) > 1
    np.testing.assert_allclose(mixture.means(1.0), mixture.shares.means)


@pytest.mark.parametrize("doubt", [1e-4, 0.3, 1.0])
def test_clips_of_one_class_each_mix_nothing(doubt):
    E, _, truth = problem(300, 16, 5)
    R = np.eye(6)[truth]  # and a class without clips
    np.testing.assert_allclose(held(E, R).means(doubt), held(E, R).shares.means, atol=1e-12)


def test_strangers_dilute_a_class_less_when_their_shares_count_as_mixtures():
    """The reason for the first round: a noise that sounds like class 0."""
    for seed in range(6):
        E, T, truth = problem(600, 64, 12, seed=seed, noise=0.3)
        E = unit(E + 1.2 * np.random.default_rng(seed).random((600, 1)) * T[0])
        R = softmax(E @ T.T / (FIRST * PRESETS["default"].softness * score_length(E, T)), axis=1)
        mixture, own = held(E, R), E[truth == 0].mean(axis=0)
        assert mixture.shares.n_c[0] > 150  # of which 50 are its own
        found = mixture.shares.means, mixture.means(12 / 600)
        plain, mixed = (linalg.norm(M[0] - own) for M in found)
        assert mixed < 0.95 * plain


def test_a_class_without_clips_stands_where_the_text_puts_it():
    rng = np.random.default_rng(0)
    T = unit(rng.standard_normal((6, 16)))
    means = 0.3 * T + rng.standard_normal(16)  # the text, shrunk and moved
    n = np.array([10.0, 10, 10, 10, 10, 0])
    np.testing.assert_allclose(with_text(np.where(n[:, None] > 0, means, 0), n, T), means)
    assert np.isfinite(with_text(means, n, np.tile(T[:1], (6, 1)))).all()


@pytest.mark.parametrize("shape", SHAPES[:12], ids=str)
def test_a_weak_prior_gives_the_rotation_closest_to_the_identity_and_a_strong_one_none(shape):
    E, T, truth = problem(*shape)
    A = np.array([E[truth == c].mean(axis=0) for c in range(len(T))])
    A, B = A - A.mean(axis=0), T - T.mean(axis=0)

    def full(Z, R_z):
        return np.eye(len(Z)) + Z @ (R_z - np.eye(len(R_z))) @ Z.T

    wanted = full(*closest_rotation(A, B))
    np.testing.assert_allclose(full(*rotation(A, B, 1e-7)), wanted, atol=1e-3)
    np.testing.assert_array_equal(full(*rotation(A, B, 0.0)), wanted)
    np.testing.assert_allclose(full(*rotation(A, B, 1e7)), np.eye(len(wanted)), atol=1e-5)
    turned = [linalg.norm(full(*rotation(A, B, k)) - np.eye(len(wanted))) for k in (0.1, 1, 10)]
    assert turned[0] > turned[1] > turned[2]


def test_a_turned_space_turns_the_map():
    E, T, truth = problem(300, 16, 4)
    Q = ortho_group.rvs(16, random_state=0)
    W, turned = (
        compose(X, P, truth, rho=1.0, eps=1e-4, prior=0.5)
        for X, P in ((E, T), (unit(E @ Q), unit(T @ Q)))
    )
    np.testing.assert_allclose(turned[:-1], Q.T @ W[:-1] @ Q, atol=1e-8)
    np.testing.assert_allclose(turned[-1], W[-1] @ Q, atol=1e-8)


def test_class_means_land_in_the_directions_of_their_prototypes():
    T = unit(np.random.default_rng(0).standard_normal((5, 24)))
    Q = ortho_group.rvs(24, random_state=1)
    E = unit(
        np.repeat(T @ Q, 30, axis=0) + 0.02 * np.random.default_rng(2).standard_normal((150, 24))
    )
    y = np.repeat(np.arange(5), 30)
    W = compose(E, T, y, rho=1.0, eps=1e-4)
    landed = unit(np.array([(E[y == c] @ W[:-1] + W[-1]).mean(axis=0) for c in range(5)]))
    assert np.sum(landed * T, axis=1).min() > 0.99


@pytest.mark.parametrize("y", [np.zeros(40, dtype=np.intp), np.full(40, 2)])
def test_one_class_determines_no_map(y):
    E, T, _ = problem(40, 16, 3)
    np.testing.assert_array_equal(compose(E, T, y, rho=1.0, eps=1e-4), np.eye(17, 16))


def test_classes_without_spread_are_only_rotated():
    T = unit(np.random.default_rng(0).standard_normal((4, 12)))
    Q = ortho_group.rvs(12, random_state=3)
    W = compose(T @ Q, T, np.arange(4), rho=1.0, eps=1e-4)
    linear = W[:-1] / linalg.norm(W[:-1], 2)
    np.testing.assert_allclose(linear @ linear.T, np.eye(12), atol=1e-8)


def test_towards_the_identity():
    W = np.random.default_rng(0).standard_normal((9, 8))
    np.testing.assert_array_equal(towards_identity(W, 1.0), W)
    np.testing.assert_array_equal(towards_identity(W, 0.0), np.eye(9, 8))
    np.testing.assert_allclose(towards_identity(W, 0.25), 0.25 * W + 0.75 * np.eye(9, 8))


@pytest.mark.parametrize("d", [48, 96])
def test_it_remembers_less_of_the_batch_than_regression(d):
    """The reason it is there: clips of the same place that it has not seen are labelled as well."""
    found = []
    for seed in range(4):
        E, T, truth = problem(1500, d, 6, seed=seed)
        E = unit(E + np.random.default_rng(seed).standard_normal(E.shape) / np.sqrt(d))
        for compilation in ("composition", "regression"):
            params = replace(PRESETS["default"], guard=False, compilation=compilation)
            W = calibrate(E[:120], T, params).W
            right = ((E @ W[:-1] + W[-1]) @ T.T).argmax(axis=1) == truth
            found.append([np.mean(right[:120]), np.mean(right[120:])])
    (batch, unseen), (batch_r, unseen_r) = np.reshape(found, (4, 2, 2)).mean(axis=0)
    assert unseen > unseen_r + 0.02
    assert batch - unseen < batch_r - unseen_r

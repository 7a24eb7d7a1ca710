"""The composed map against a plain transcription, and what its parts promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg
from scipy.stats import ortho_group

from prism_audio.estimator import PRESETS
from prism_audio.geometry import compose as core
from prism_audio.geometry.calibrate import calibrate
from prism_audio.geometry.compose import towards_identity, with_text
from prism_audio.geometry.opca import closest_rotation, rotation
from prism_audio.geometry.source import InMemory

from .problems import SHAPES, problem, unit


def compose(E, T, y, **numbers):
    return core.compose(InMemory(E), E.T @ E, T, y, **numbers)


def transcription(E, T, y, rho, eps, prior):
    """Whiten, rotate the class means onto the text, scale, shift: every step on full matrices."""
    C, d = T.shape
    n = np.bincount(y, minlength=C)
    means = np.array([E[y == c].mean(axis=0) if n[c] else np.zeros(d) for c in range(C)])
    residual = E - means[y]
    S_W = residual.T @ residual
    G = linalg.inv(linalg.sqrtm((S_W / (np.trace(S_W) / d) + rho * np.eye(d)) / (1 + rho)).real)
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
    R = linalg.polar(A.T @ B + kappa * np.eye(d))[0]
    s = linalg.norm(B) / (linalg.norm(A) + eps)
    return s * (E @ G - M_n.mean(axis=0)) @ R + T.mean(axis=0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("rho", "prior"), [(0.3, 0.2), (1.0, 1.0), (5.0, 4.0)])
def test_the_composition_is_the_product_of_its_parts(shape, rho, prior):
    E, T, truth = problem(*shape)
    y = np.where(np.arange(len(E)) % 5, truth, 0)  # labels with mistakes
    y[y == len(T) - 1] = 1  # and a class without clips
    W = compose(E, T, y, rho=rho, eps=1e-4, prior=prior)
    got, wanted = E @ W[:-1] + W[-1], transcription(E, T, y, rho, 1e-4, prior)
    # Scaled so that scores scatter over the classes as far as those of zero-shot.
    scale = np.std(E @ T.T, axis=1).mean() / np.std(wanted @ T.T, axis=1).mean()
    np.testing.assert_allclose(got, scale * wanted, atol=1e-8)


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

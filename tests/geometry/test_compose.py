"""The composed map against a plain transcription, and what its parts promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from scipy.stats import ortho_group

from prism_audio.geometry import compose as core
from prism_audio.geometry.compose import towards_identity
from prism_audio.geometry.source import InMemory

from .problems import SHAPES, problem, unit


def compose(E, T, y, **numbers):
    return core.compose(InMemory(E), E.T @ E, T, y, **numbers)


def transcription(E, T, y, rho, eps):
    """Whiten, rotate the class means onto the text, scale, shift: every step on full matrices."""
    d = E.shape[1]
    seen = np.unique(y)
    means = np.array([E[y == c].mean(axis=0) for c in seen])
    residual = E - means[np.searchsorted(seen, y)]
    S_W = residual.T @ residual
    B = S_W / (np.trace(S_W) / d) + rho * np.eye(d)
    G = linalg.inv(linalg.sqrtm(B / (1 + rho)).real)
    M_n, M_t = means @ G, T[seen]
    A, target = M_n - M_n.mean(axis=0), M_t - M_t.mean(axis=0)
    s = linalg.norm(target) / (linalg.norm(A) + eps)

    def apply(X):
        """The class means go where the optimal rotation takes them, whatever its completion."""
        U, sigma, Vt = linalg.svd(A.T @ target)
        rank = int(np.sum(sigma > 1e-9 * sigma[0]))
        inside = U[:, :rank] @ Vt[:rank]
        centred = X @ G - M_n.mean(axis=0)
        return s * (centred @ inside) @ target.T + M_t.mean(axis=0) @ target.T

    return apply, target


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("rho", [0.3, 1.0, 5.0])
def test_the_composition_is_the_product_of_its_parts(shape, rho):
    """Compared by the scores against the class differences, on which no completion acts."""
    E, T, truth = problem(*shape)
    y = np.where(np.arange(len(E)) % 5, truth, 0)  # labels with mistakes
    W = compose(E, T, y, rho=rho, eps=1e-4)
    apply, target = transcription(E, T, y, rho, 1e-4)
    got = (E @ W[:-1] + W[-1]) @ target.T
    wanted = apply(E)
    scale = linalg.norm(got) / linalg.norm(wanted)  # the mean length of rows is made one
    np.testing.assert_allclose(got, scale * wanted, atol=1e-8)


def test_rows_keep_their_length_in_the_root_mean_square():
    E, T, truth = problem(400, 32, 5)
    W = compose(E, T, truth, rho=1.0, eps=1e-4)
    assert np.mean(linalg.norm(E @ W[:-1] + W[-1], axis=1) ** 2) == pytest.approx(1)


def test_a_turned_space_turns_the_map():
    E, T, truth = problem(300, 16, 4)
    Q = ortho_group.rvs(16, random_state=0)
    W, turned = (
        compose(X, P, truth, rho=1.0, eps=1e-4) for X, P in ((E, T), (unit(E @ Q), unit(T @ Q)))
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

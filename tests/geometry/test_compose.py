"""The composed map against a plain transcription, and what its parts promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from scipy.stats import ortho_group

from prism_audio.geometry import compose as core
from prism_audio.geometry.abr import second_moments
from prism_audio.geometry.compose import posterior, with_text
from prism_audio.geometry.frame import find_frame, thin_frame
from prism_audio.geometry.opca import closest_rotation, rotation
from prism_audio.geometry.source import InMemory
from tests.helpers.problems import SHAPES, problem, unit


def compose(E, T, R, frame=None, **numbers):
    """The composition for rows with assignments ``R`` (N, C), or labels (N,)."""
    R = np.eye(len(T))[R] if R.ndim == 1 else R
    frame = frame or find_frame(second_moments(InMemory(E)), E.dtype)
    return core.compose(core.Shares(R.sum(axis=0), R.T @ E), frame, T @ frame.Q, **numbers)


def transcription(E, T, R, rho, prior):
    """Whiten, rotate the class means onto the text, weigh them: every step on full matrices."""
    (C, d), one = T.shape, np.eye(T.shape[1])
    n = np.maximum(R.sum(axis=0), 1e-12)
    m = E.mean(axis=0)
    dev = np.array([R[:, c] @ E / n[c] - m if R[:, c].any() else np.zeros(d) for c in range(C)])
    S_T = (E - m).T @ (E - m)
    U = np.sqrt(max(1 - prior, 0) * n)[:, None] * dev
    values, n_rows = linalg.eigvalsh(S_T - U.T @ U), n.sum() - np.sum(n >= 0.5)
    error = (np.sum(values**2) + np.sum(values) ** 2) / (n_rows * d * np.var(values))
    floor = rho * min(np.sqrt(error), 1.0) * np.mean(values)
    by_total = linalg.inv(linalg.sqrtm(S_T + floor * one).real)
    G = by_total @ linalg.inv(linalg.sqrtm(one - by_total @ U.T @ U @ by_total).real)
    # The text stands for half a clip of every class, on the line through the means seen.
    w = n / (n + 0.5)
    m_1, t_1 = np.average(dev, axis=0, weights=w), np.average(T, axis=0, weights=w)
    b = w @ np.sum((dev - m_1) * (T - t_1), axis=1) / (w @ np.sum((T - t_1) ** 2, axis=1))
    M = np.array(
        [(n[c] * dev[c] + 0.5 * (m_1 + b * (T[c] - t_1))) / (n[c] + 0.5) for c in range(C)]
    )
    M = M @ G
    A, B = M - M.mean(axis=0), T - T.mean(axis=0)
    kappa = prior * linalg.norm(A) * linalg.norm(B) / (C - 1)
    turn = linalg.polar(A.T @ B + kappa * one)[0]
    s = linalg.norm(B) / linalg.norm(A)
    X = s * ((E - m) @ G - M.mean(axis=0)) @ turn + T.mean(axis=0)
    # Clips and text weighed by how far off they are.
    within = G.T @ (S_T - (dev.T * n) @ dev) @ G
    variance = s**2 * np.trace(within) / n_rows / d
    apart, heard = np.sum((s * A @ turn - B) ** 2, axis=1) / d, n >= 1
    tau = np.average((apart - variance / n)[heard], weights=n[heard]) if heard.sum() > 1 else 0
    text = variance / n / (variance / n + max(tau, 0) + 1e-12)
    P = text[:, None] * B + (1 - text)[:, None] * (s * A @ turn)
    return X, unit(P)


def assignments(E, T, truth):
    """Labels with mistakes, a class without clips, and clips shared between two classes."""
    R = np.eye(len(T))[np.where(np.arange(len(E)) % 5, truth, 0)]
    if len(T) > 2:
        R[:, 1] += R[:, -1]
        R[:, -1] = 0
    R[::3] = 0.7 * R[::3] + 0.3 * R[1]
    return R


@pytest.mark.parametrize("shape", SHAPES[:16], ids=str)
@pytest.mark.parametrize(("rho", "prior"), [(0.3, 0.2), (2.0, 1.0), (5.0, 4.0)])
def test_the_composition_is_the_product_of_its_parts(shape, rho, prior):
    E, T, truth = problem(*shape)
    R = assignments(E, T, truth)
    made = compose(E, T, R, rho=rho, prior=prior)
    X, P = transcription(E, T, R, rho, prior)
    W = made.rigid.matrix()
    np.testing.assert_allclose(E @ W[:-1] + W[-1], X, atol=1e-7)
    wanted = (X - T.mean(axis=0)) @ P.T
    np.testing.assert_allclose(E @ made.head[:-1] + made.head[-1], wanted, atol=1e-7)


def test_few_rows_give_the_same_in_the_thin_frame():
    E, T, truth = problem(60, 128, 6)
    wide, thin = (
        compose(E, T, truth, frame, rho=2.0, prior=0.3)
        for frame in (find_frame(second_moments(InMemory(E)), E.dtype), thin_frame(E, T))
    )
    np.testing.assert_allclose(thin.head, wide.head, atol=1e-8)
    np.testing.assert_allclose(thin.rigid.matrix(), wide.rigid.matrix(), atol=1e-8)
    assert thin.deflated_rank == pytest.approx(wide.deflated_rank)


def test_the_more_clips_the_less_text():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((4, 30))
    A = B + 0.5 * rng.standard_normal((4, 30))
    n = np.array([1.0, 5.0, 50.0, 5000.0])
    P = posterior(A, B, n, 1.0, 30)
    part = [np.vdot(P[c] - B[c], A[c] - B[c]) / np.sum((A[c] - B[c]) ** 2) for c in range(4)]
    assert (np.diff(part) > 0).all()
    assert part[-1] > 0.95
    np.testing.assert_array_equal(posterior(B, B, n, 1.0, 30), B)
    np.testing.assert_array_equal(posterior(A, B, np.array([9.0, 0, 0, 0]), 1.0, 30), B)


def test_the_posterior_is_nearer_to_the_truth_than_clips_and_text():
    rng = np.random.default_rng(1)
    means = rng.standard_normal((40, 64))
    B = means + 0.4 * rng.standard_normal(means.shape)
    n = rng.integers(1, 20, 40).astype(float)
    A = means + rng.standard_normal(means.shape) / np.sqrt(n)[:, None]
    P = posterior(A, B, n, 1.0, 64)
    by_text, by_clips, by_both = (linalg.norm(X - means) for X in (B, A, P))
    assert by_both < 0.9 * min(by_text, by_clips)


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
    plain, turned = (compose(X, P, truth, rho=1.0, prior=0.5) for X, P in ((E, T), (E @ Q, T @ Q)))
    W, W_turned = plain.rigid.matrix(), turned.rigid.matrix()
    np.testing.assert_allclose(W_turned[:-1], Q.T @ W[:-1] @ Q, atol=1e-8)
    np.testing.assert_allclose(turned.head[:-1], Q.T @ plain.head[:-1], atol=1e-8)


def test_class_means_land_in_the_directions_of_their_prototypes():
    T = unit(np.random.default_rng(0).standard_normal((5, 24)))
    Q = ortho_group.rvs(24, random_state=1)
    E = unit(
        np.repeat(T @ Q, 30, axis=0) + 0.02 * np.random.default_rng(2).standard_normal((150, 24))
    )
    y = np.repeat(np.arange(5), 30)
    W = compose(E, T, y, rho=1.0, prior=0.0).rigid.matrix()
    landed = unit(np.array([(E[y == c] @ W[:-1] + W[-1]).mean(axis=0) for c in range(5)]))
    assert np.sum(landed * T, axis=1).min() > 0.99


@pytest.mark.parametrize("y", [np.zeros(40, dtype=np.intp), np.full(40, 2)])
def test_one_class_determines_no_map(y):
    E, T, _ = problem(40, 16, 3)
    assert compose(E, T, y, rho=1.0, prior=0.0) is None
    assert compose(E, np.tile(T[:1], (3, 1)), np.arange(40) % 3, rho=1.0, prior=0.0) is None

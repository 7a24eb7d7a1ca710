"""The frame of a batch: one eigendecomposition that whitens by the scatter within any classes."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.geometry.abr import second_moments
from prism_audio.geometry.frame import (
    find_frame,
    thin_frame,
    whitened_trace,
    whitening,
    within_moments,
)
from prism_audio.geometry.source import InMemory
from tests.helpers.problems import SHAPES, problem


def scatter(E, y, C):
    """S_W, and the weighted deviations U of the class means."""
    m = E.mean(axis=0)
    means = [E[y == c].mean(axis=0) if (y == c).any() else m for c in range(C)]
    U = np.array([np.sqrt(np.sum(y == c)) * (means[c] - m) for c in range(C)])
    S_W = sum(np.outer(e - means[c], e - means[c]) for e, c in zip(E, y, strict=True))
    return S_W, U


@pytest.mark.parametrize("shape", SHAPES[:14], ids=str)
def test_it_whitens_by_the_scatter_within_classes(shape):
    E, T, y = problem(*shape)
    S_W, U = scatter(E, y, len(T))
    frame = find_frame(second_moments(InMemory(E)), E.dtype)
    floor = 0.3 * np.trace(S_W) / len(S_W)
    white = whitening(frame, U @ frame.Q, floor)
    G = frame.Q @ white(np.eye(len(S_W)))
    np.testing.assert_allclose(
        G.T @ (S_W + floor * np.eye(len(S_W))) @ G, np.eye(len(S_W)), atol=1e-8
    )
    trace, square = within_moments(frame, U @ frame.Q)
    assert trace == pytest.approx(np.trace(S_W))
    assert square == pytest.approx(np.sum(S_W**2))
    assert whitened_trace(frame, white, U @ frame.Q) == pytest.approx(np.trace(G.T @ S_W @ G))
    wide = np.diag(white.g) + (white.g[:, None] * white.V.T * white.k) @ white.V
    assert white.trace == pytest.approx(np.trace(wide))


def test_a_head_in_the_frame_is_one_for_the_rows_as_they_come():
    E, _, _ = problem(200, 24, 5)
    frame = find_frame(second_moments(InMemory(E)), E.dtype)
    rng = np.random.default_rng(0)
    H, constant = rng.standard_normal((24, 5)), rng.standard_normal(5)
    head = frame.head(H, constant)
    wanted = (E - E.mean(axis=0)) @ frame.Q @ H + constant
    np.testing.assert_allclose(E @ head[:-1] + head[-1], wanted, atol=1e-10)


def test_deviations_of_class_means():
    E, _, y = problem(90, 12, 4)
    frame = find_frame(second_moments(InMemory(E)), E.dtype)
    n_c = np.array([*np.bincount(y, minlength=4), 0.0])
    sums = np.array([E[y == c].sum(axis=0) for c in range(5)])
    got = frame.deviations(n_c, sums)
    wanted = [(E[y == c].mean(axis=0) - E.mean(axis=0)) @ frame.Q for c in range(4)]
    np.testing.assert_allclose(got[:4], wanted, atol=1e-10)
    np.testing.assert_array_equal(got[4], 0)


def test_few_rows_need_no_wide_frame():
    E, T, _ = problem(30, 96, 6)
    thin, wide = thin_frame(E, T), find_frame(second_moments(InMemory(E)), E.dtype)
    assert thin.Q.shape == (96, 37)
    np.testing.assert_allclose(thin.Q.T @ thin.Q, np.eye(37), atol=1e-10)
    np.testing.assert_allclose(
        thin.Q @ np.diag(thin.values) @ thin.Q.T,
        wide.Q @ np.diag(wide.values) @ wide.Q.T,
        atol=1e-9,
    )
    np.testing.assert_allclose(thin.Q @ (thin.Q.T @ T.T), T.T, atol=1e-9)

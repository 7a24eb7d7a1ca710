from __future__ import annotations

import numpy as np
import pytest

from prism_audio.geometry import ccvd, overlap, soft
from prism_audio.geometry.rows import original
from prism_audio.geometry.source import InMemory


def spread_along(
    rng: np.random.Generator, centre: np.ndarray, directions: np.ndarray, n: int
) -> np.ndarray:
    """Rows about a centre that vary in these directions only."""
    return centre + rng.standard_normal((n, len(directions))) @ directions


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three classes in 10 dimensions: in the cut space, beside it, and half way; the cut V."""
    rng = np.random.default_rng(0)
    axes = np.eye(10)
    half = (axes[0] + axes[5])[None] / np.sqrt(2)
    E = np.vstack(
        [
            spread_along(rng, axes[9], axes[:2], 40),
            spread_along(rng, axes[8], axes[4:6], 50),
            spread_along(rng, axes[7], half, 30),
        ]
    )
    y = np.repeat([0, 1, 2], [40, 50, 30])
    order = rng.permutation(len(E))
    return E[order], y[order], axes[:, :3]


def test_hard_cut_removes_what_lies_in_it(problem: tuple[np.ndarray, ...]) -> None:
    E, y, V = problem
    found = overlap.class_overlap(E, y, 4, overlap.cut(V))
    np.testing.assert_allclose(found.removed[:3], [1, 0, 0.5], atol=1e-12)
    assert np.isnan(found.removed[3])  # a class without members
    np.testing.assert_array_equal(found.rank, [2, 2, 1, 0])
    np.testing.assert_array_equal(found.members, [40, 50, 30, 0])
    assert abs(found.K - 3) < 1e-9


def test_against_explicit_scatter_matrices() -> None:
    rng = np.random.default_rng(1)
    E, y = rng.standard_normal((90, 12)), rng.integers(3, size=90)
    rows = original(InMemory(E), rng.standard_normal((3, 12)))
    gain = soft.soft_gain(ccvd.find_scatter(rows, 3, 1.0).S_W, len(E), 2.0)
    found = overlap.class_overlap(E.astype(np.float32), y, 3, gain)
    for c in range(3):
        X = E[y == c] - E[y == c].mean(axis=0)
        S = X.T @ X
        assert found.removed[c] == pytest.approx(
            1 - np.trace(gain @ S @ gain) / np.trace(S), abs=1e-5
        )
        assert found.rank[c] == np.linalg.matrix_rank(S)


@pytest.mark.parametrize(("n", "holds"), [(6, False), (9, True)])
def test_rank_rule(n: int, holds: bool) -> None:
    """rank(S_c) + K > d: with K = 3 of 10 directions, it takes rank 8, that is nine rows."""
    E = np.random.default_rng(2).standard_normal((n, 10))
    found = overlap.class_overlap(E, np.zeros(n, int), 1, overlap.cut(np.eye(10)[:, :3]))
    assert found.rank[0] == n - 1
    assert bool(found.rank_rule[0]) is holds


def test_one_class_that_stands_out_is_trapped() -> None:
    rng = np.random.default_rng(3)
    C, d = 8, 40
    axes = np.eye(d)
    usual = axes[[1, 5, 6, 7, 8, 9, 10, 11]]
    E = [spread_along(rng, axes[20 + c], usual if c else axes[:2], 30) for c in range(C)]
    y = np.repeat(np.arange(C), 30)
    found = overlap.class_overlap(np.vstack(E), y, C, overlap.cut(axes[:, :3]))
    np.testing.assert_array_equal(found.trapped, [True] + [False] * (C - 1))


def test_points_have_no_spread_to_lose() -> None:
    E = np.repeat(np.eye(3), 4, axis=0)
    found = overlap.class_overlap(E, np.repeat([0, 1, 2], 4), 3, overlap.cut(np.eye(3)[:, :1]))
    assert np.isnan(found.removed).all()
    assert not found.trapped.any()

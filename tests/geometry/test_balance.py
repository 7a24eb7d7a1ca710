"""Balanced starts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from prism_audio.geometry.balance import TOLERANCE, balanced_head, balancing_bias
from tests.helpers.problems import problem


def test_every_class_gets_its_share():
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((300, 7)) + 5 * rng.standard_normal(7)
    shares = softmax(logits + balancing_bias(logits), axis=1).mean(axis=0)
    assert softmax(logits, axis=1).mean(axis=0).max() > 0.4
    np.testing.assert_allclose(shares, 1 / 7, rtol=2 * TOLERANCE)


@pytest.mark.parametrize("push", [0.0, 0.5, 2.0])
def test_a_constant_of_each_class_does_not_matter(push):
    """The reason it is there: what noise adds to every score."""
    E, T, _ = problem(200, 16, 5)
    plain = balanced_head(E, T, 0.1)
    rows = E + push * T[0]
    pushed = balanced_head(rows, T, 0.1)
    same = [softmax(X @ h[:-1] + h[-1], axis=1) for X, h in ((E, plain), (rows, pushed))]
    np.testing.assert_allclose(*same, atol=0.02)


def test_classes_that_score_alike_are_left_alone():
    E, T, _ = problem(50, 16, 3)
    assert np.isfinite(balanced_head(E, np.tile(T[:1], (3, 1)), 0.1)).all()

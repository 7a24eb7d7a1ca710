"""Softmax, entropy, and the scale that makes sense for any encoder."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.methods.posterior import (
    CLIP_SCALE,
    TYPICAL_ENTROPY,
    entropy,
    log_posterior,
    matched_scale,
    resolve_scale,
)

RNG = np.random.default_rng(0)


def test_entropy_at_its_ends_and_between():
    even, sure = np.zeros((1, 4)), np.array([[1000.0, 0, 0, 0]])
    half = np.array([[0.0, 0, -1000, -1000]])
    logits = np.vstack([even, sure, half])
    np.testing.assert_allclose(entropy(log_posterior(logits)), [1, 0, 0.5], atol=1e-12)
    assert entropy(log_posterior(np.ones((3, 1)))).tolist() == [0, 0, 0]


def test_the_matched_scale_makes_the_median_clip_typical():
    cosines = 0.05 * RNG.standard_normal((501, 20))
    s = matched_scale(cosines)
    assert np.isclose(np.median(entropy(log_posterior(s * cosines))), TYPICAL_ENTROPY, atol=1e-6)


@pytest.mark.parametrize("factor", [0.01, 1.0, 40.0])
def test_the_matched_scale_follows_the_encoder(factor):
    cosines = 0.05 * RNG.standard_normal((200, 10))
    moved = factor * cosines + RNG.standard_normal((200, 1))
    assert np.isclose(matched_scale(moved), matched_scale(cosines) / factor, rtol=1e-6)


@pytest.mark.parametrize(
    "cosines", [np.ones((5, 1)), np.full((5, 4), 0.3), np.eye(4)[[0, 0, 0]] * 0]
)
def test_where_nothing_can_be_matched_it_is_clips(cosines):
    assert matched_scale(cosines) == CLIP_SCALE


def test_two_equal_classes_can_never_be_told_apart():
    cosines = np.repeat(RNG.standard_normal((50, 1)), 2, axis=1)
    assert matched_scale(np.hstack([cosines, cosines - 1])) == CLIP_SCALE


def test_a_number_is_taken_as_it_is():
    assert resolve_scale(np.eye(3), 12) == 12.0
    assert resolve_scale(np.eye(3), "matched") == matched_scale(np.eye(3))

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.bench.trials.spectrum import energy, references


def test_energy_is_that_of_the_singular_values() -> None:
    X = np.random.default_rng(0).standard_normal((80, 30)) @ np.diag(np.linspace(0.1, 3, 30))
    sigma = np.linalg.svd(X, compute_uv=False)
    expected = np.cumsum(sigma**2) / np.sum(sigma**2)
    np.testing.assert_allclose(energy("x", X).curve, expected, atol=1e-9)


def test_a_shift_of_low_rank_is_seen_as_one() -> None:
    random = np.random.default_rng(1)
    low = random.standard_normal((300, 4)) @ np.linalg.qr(random.standard_normal((100, 4)))[0].T
    found = energy("low", low)
    assert found.rank_for_share == 4
    assert found.within_rank == pytest.approx(1)
    full = energy("full", random.standard_normal((3000, 100)))
    assert 75 < full.rank_for_share < 92


def test_centring_takes_a_common_shift_away() -> None:
    random = np.random.default_rng(2)
    X = random.standard_normal((500, 20)) + 50
    assert energy("x", X).rank_for_share == 1
    assert energy("x", X, centre=True).rank_for_share > 15


def test_references_are_of_the_clean_clips() -> None:
    clean = np.random.default_rng(3).standard_normal((200, 10))
    first, second = references(clean)
    np.testing.assert_allclose(first.curve, energy("", clean - clean.mean(axis=0)).curve)
    np.testing.assert_allclose(second.curve, first.curve, atol=0.05)

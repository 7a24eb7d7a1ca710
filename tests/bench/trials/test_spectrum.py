from __future__ import annotations

import numpy as np
import pytest

from prism_audio.bench.trials.spectrum import references, shift_energy
from tests.helpers.shift import unit


def test_a_shift_of_low_rank_is_seen_as_one() -> None:
    random = np.random.default_rng(1)
    clean = unit(random.standard_normal((300, 100)))
    noisy = clean + 0.001 * random.standard_normal((300, 4)) @ random.standard_normal((4, 100))
    low = shift_energy("low", clean, noisy)
    assert low.rank_for_share <= 5
    assert low.within_rank == pytest.approx(1, abs=1e-3)
    full = shift_energy("full", clean, unit(random.standard_normal((300, 100))))
    assert full.rank_for_share > 60


def test_a_common_shift_is_explained_by_its_mean() -> None:
    clean = unit(np.random.default_rng(2).standard_normal((200, 30)))
    shift = shift_energy("common", clean, clean + 0.05)
    assert shift.translation is not None
    assert shift.translation > 0.8
    assert shift.affine is not None
    assert shift.affine > shift.translation


def test_references_are_of_the_clean_clips() -> None:
    clean = np.random.default_rng(3).standard_normal((200, 10))
    first, second = references(clean)
    sigma = np.linalg.svd(clean - clean.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(first.curve, np.cumsum(sigma**2) / np.sum(sigma**2))
    np.testing.assert_allclose(second.curve, first.curve, atol=0.05)
    assert first.affine is None

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.errors import InputError
from prism_audio.model.diagnose import cumulative_energy, look_at, pair_rows, rank_of, shift_of
from prism_audio.model.vocabulary import Vocabulary


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_energy_against_the_eigenvalues_of_the_gram_matrix() -> None:
    D = np.random.default_rng(0).standard_normal((30, 8)) * np.arange(1, 9)
    values = np.linalg.eigvalsh(D.T @ D)[::-1]
    np.testing.assert_allclose(cumulative_energy(D), np.cumsum(values) / values.sum())


def test_rank_holding_a_share() -> None:
    assert rank_of(np.array([0.5, 0.8, 0.9, 1.0])) == 3
    assert rank_of(np.array([0.95, 1.0])) == 1
    assert rank_of(np.array([1.0])) == 1


def test_shift_in_three_directions_has_rank_three() -> None:
    rng = np.random.default_rng(1)
    clean = unit(rng.standard_normal((200, 40)))
    # Small shifts at right angles to every clip survive the normalisation unchanged.
    basis = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    clean = unit(clean - clean @ basis @ basis.T)
    noisy = unit(clean + 1e-3 * rng.standard_normal((200, 3)) @ basis.T)
    shift = shift_of(clean, noisy)
    assert shift.rank == 3
    assert shift.energy[2] == pytest.approx(1, abs=1e-4)
    assert shift.clean_rank > 20
    assert shift.translation < 0.05


def test_translation_and_affine_part() -> None:
    rng = np.random.default_rng(2)
    clean = unit(rng.standard_normal((400, 12)))
    same = unit(clean + 0.8 * np.eye(12)[0])
    moved = shift_of(clean, same)
    assert moved.translation > 0.7
    assert moved.affine is not None
    assert moved.affine > 0.8
    noise = unit(clean + 0.5 * rng.standard_normal((400, 12)))
    random = shift_of(clean, noise)
    assert random.affine is not None
    assert random.affine < 0.5 < moved.affine
    assert random.rank > moved.rank


def test_rows_may_be_of_any_length_and_order() -> None:
    rng = np.random.default_rng(3)
    clean, noisy = rng.standard_normal((2, 50, 10))
    order = rng.permutation(50)
    first = shift_of(clean, noisy)
    second = shift_of(3.0 * clean[order], 0.1 * noisy[order])
    np.testing.assert_allclose(first.energy, second.energy)
    assert first.rank == second.rank


def test_what_is_no_pair_is_refused() -> None:
    rows = np.random.default_rng(4).standard_normal((6, 4))
    with pytest.raises(InputError, match="same"):
        shift_of(rows, 2 * rows)
    with pytest.raises(InputError, match="pairs"):
        shift_of(rows, rows[:3])
    assert shift_of(rows[:3], rows[3:]).affine is None
    assert pair_rows(["a", "b", "c"], ["c", "a", "x"]) == ([0, 2], [1, 0])
    with pytest.raises(InputError, match="alike"):
        pair_rows(["a"], ["b"])


def crowd(rng: np.random.Generator, N: int, noise: np.ndarray) -> tuple[np.ndarray, Vocabulary]:
    T = np.linalg.qr(rng.standard_normal((30, 30)))[0][:5]
    E = T[np.arange(N) % 5] + rng.standard_normal((N, len(noise))) @ noise
    return E, Vocabulary(tuple("abcde"), T)


def test_look_sees_the_rank_of_the_spread() -> None:
    rng = np.random.default_rng(5)
    noise = 0.3 * np.linalg.qr(rng.standard_normal((30, 30)))[0][:4]
    look = look_at(*crowd(rng, 400, noise))
    assert (look.rows, look.d, look.classes) == (400, 30, 5)
    # Four directions of noise, a little bent by the sphere.
    assert 3 <= look.within_rank <= 6
    assert look.within_effective < 8
    wide = look_at(*crowd(rng, 400, 0.2 * np.eye(30)))
    assert wide.within_rank > 15
    assert wide.confidence < look.confidence


def test_few_clips_do_not_hold_on_the_other_half() -> None:
    rng = np.random.default_rng(6)
    E, words = crowd(rng, 600, 0.35 * np.eye(30))
    many, few = look_at(E, words, "paper"), look_at(E[:40], words, "paper")
    assert many.holds is not None
    assert few.holds is not None
    assert few.holds < many.holds <= 1.05
    alone = look_at(E[:4], words)
    assert alone.holds is None
    assert alone.verdict == "zero-shot"


def test_look_needs_clips() -> None:
    words = Vocabulary(("a",), np.eye(1, 4))
    with pytest.raises(InputError, match="two or more"):
        look_at(np.eye(1, 4), words)
    assert np.isnan(look_at(np.eye(4), words).margin)  # one class: nothing to be ahead of

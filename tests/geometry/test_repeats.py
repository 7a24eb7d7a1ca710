"""How many independent clips a batch is worth."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio import PRISM
from prism_audio.geometry.repeats import find_repeats, independent_clips
from tests.helpers.problems import problem, unit


def independent(N=60, d=64, seed=0):
    return unit(np.random.default_rng(seed).standard_normal((N, d)))


def worth(E, N):
    return independent_clips(find_repeats(E), N)


def test_independent_clips_count_each():
    assert worth(independent(), 60) == 60
    assert worth(independent(), 6000) == 6000  # as a sample of these


@pytest.mark.parametrize("blur", [0.0, 0.02, 0.15])
def test_clips_that_came_again_and_windows_of_one_recording_count_once(blur):
    E = np.repeat(independent(), 5, axis=0)
    noise = np.random.default_rng(1).standard_normal(E.shape) / 8
    assert worth(unit(E + blur * noise), 300) == pytest.approx(60, rel=0.02)


def test_clips_of_one_class_that_were_recorded_apart_are_no_repeats():
    E, _, _ = problem(400, 64, 4)
    noisy = unit(E + 0.5 * independent(400, seed=2))
    assert worth(noisy, 400) > 380


def test_the_same_sound_over_and_over_is_one_clip():
    assert worth(np.tile(independent(1), (50, 1)), 50) == 1
    assert worth(independent(1), 1) == 1


def test_of_clips_that_are_alike_one_stands_for_all_whatever_their_order():
    E = np.vstack([independent(5), unit(independent(5) + 0.01), independent(1, seed=3)])
    order = np.random.default_rng(0).permutation(len(E))
    first, again = find_repeats(E).first, find_repeats(E[order]).first
    assert sorted(first % 5) == [0, 0, 1, 2, 3, 4]
    np.testing.assert_array_equal(np.sort(order[again]), first)


def test_repeats_carry_no_more_than_what_they_repeat():
    E, T, _ = problem(30, 48, 6)
    once, often = (
        PRISM().fit(X, prototypes=T).verdict_.numbers for X in (E, np.repeat(E, 20, axis=0))
    )
    assert often["independent_clips"] == pytest.approx(once["independent_clips"])
    assert often["shift_weight"] == pytest.approx(once["shift_weight"])
    assert often["weight"] == pytest.approx(once["weight"], abs=0.05)

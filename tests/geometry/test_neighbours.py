"""What neighbours say of labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from prism_audio import PRISM
from prism_audio.geometry.neighbours import ask_neighbours
from prism_audio.geometry.repeats import find_repeats
from tests.helpers.problems import problem, unit


def ask(E, y, C):
    found = find_repeats(E)
    return ask_neighbours(found.likeness, found.first, [y], C)[0]


@pytest.mark.parametrize("shape", [(120, 24, 6), (80, 64, 5), (40, 96, 2)], ids=str)
def test_the_agreement_is_that_of_the_five_nearest(shape):
    E, _, y = problem(*shape)
    E = unit(E + 0.5 * unit(np.random.default_rng(1).standard_normal(E.shape)))  # none are alike
    C = shape[-1]
    assert len(find_repeats(E).first) == len(E)
    X = unit(E - E.mean(axis=0))
    _, order = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X)
    same = np.mean(y[order[:, 1:]] == y[:, None])
    chance = np.mean(y[:, None] == y)
    kappa = (same - chance) / (1 - chance)
    got = ask(E, y, C)
    assert got.agreement == pytest.approx(max(kappa, 0), abs=1e-12)
    kappa = np.clip(kappa, 0.1, 0.9)
    n = len(y)
    odds = np.log(kappa) - np.log(1 - kappa) - np.log(1.5)
    assert got.evidence == pytest.approx(2 * (n / (n + 4 * C)) ** 2 * odds)


def test_clips_that_came_again_are_no_neighbours_of_their_own():
    E, _, y = problem(60, 48, 3)
    once = ask(E, y, 3)
    often = ask(np.repeat(E, 8, axis=0), np.repeat(y, 8), 3)
    assert often == pytest.approx(once)


def test_one_cloud_cut_in_two_is_told_from_two_classes():
    """In the one direction of the text both look alike."""
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((100, 64))
    cut = (cloud[:, 0] > 0).astype(int)
    apart = cloud.copy()
    apart[:, 1:20] += np.where(cut == 0, -1.0, 1.0)[:, None]
    one, two = ask(unit(cloud), cut, 2), ask(unit(apart), cut, 2)
    assert one.agreement < 0.4
    assert two.agreement > 0.9
    assert one.evidence < 0 < two.evidence


def test_few_clips_of_a_long_list_say_little():
    E, _, y = problem(60, 64, 20)
    assert abs(ask(E, y, 20).evidence) < 1


def test_clips_that_can_have_no_neighbour_of_their_class_say_nothing():
    """Three tight classes are three independent clips, whose neighbours must be of other classes."""
    rng = np.random.default_rng(0)
    y = np.arange(48) % 3
    E = unit(np.eye(16)[y] + 0.01 * rng.standard_normal((48, 16)))
    assert len(find_repeats(E).first) == 3
    assert ask(E, y, 3).evidence == 0


def test_as_many_neighbours_are_asked_as_a_class_can_have():
    """Classes of three clips that lie together agree, though the four next clips are of others."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 3)
    E = unit(2 * np.eye(64)[y] + 0.15 * rng.standard_normal((18, 64)))
    assert len(find_repeats(E).first) == 18
    assert ask(E, y, 6).agreement == 1


@pytest.mark.parametrize("N", [1, 2, 3])
def test_hardly_a_clip(N):
    got = ask(unit(np.eye(8)[:N]), np.zeros(N, int), 2)
    assert got.agreement == 0
    assert np.isfinite(got.evidence)


def test_two_classes_that_a_place_has_moved_are_corrected_and_one_class_is_not():
    """The scores of a list of two are one number a clip; the other directions decide."""
    rng = np.random.default_rng(3)
    T = unit(rng.standard_normal((2, 64)))
    beside = unit(rng.standard_normal((2, 64)))
    gap = T[0] - T[1]
    shift = 0.9 * gap / np.linalg.norm(gap) ** 2

    def clips(classes):
        rows = 0.35 * T[classes] + 0.6 * beside[classes] + 0.25 * shift
        return unit(rows + 0.12 * rng.standard_normal((len(classes), 64)))

    y = np.arange(80) % 2
    both, one = clips(y), clips(np.zeros(80, int))
    plain = np.mean(np.argmax(both @ T.T, axis=1) == y)
    model = PRISM().fit(both, prototypes=T)
    assert model.verdict_.numbers["neighbour_agreement"] > 0.9
    assert np.mean(model.labels_ == y) > plain + 0.1
    alone = PRISM().fit(one, prototypes=T)
    assert np.mean(alone.labels_ == 0) >= np.mean(np.argmax(one @ T.T, axis=1) == 0)

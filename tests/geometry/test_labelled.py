"""Labels in a calibration: anchored rounds, logistic regression around them, and no harm."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from prism_audio import PRISM
from prism_audio.geometry import compose, labelled, logistic
from prism_audio.geometry.source import InMemory
from tests.helpers.problems import problem

HARD = {"noise": 0.8, "rank": 24, "seed": 1}


def drawn(truth, per_class, seed=0):
    """``per_class`` labels of every class, -1 elsewhere."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[rng.permutation(np.flatnonzero(truth == c))[:per_class]] = c
    return y


@pytest.fixture(scope="module")
def place():
    """A place where blind calibration is far from perfect: 300 clips, and 900 to judge on."""
    E, T, truth = problem(1200, 48, 8, **HARD)
    return E[:300], T, truth[:300], E[300:], truth[300:]


def accuracy(place, y=None):
    E, T, _, unseen, truth = place
    return PRISM().fit(E, y, prototypes=T).score(unseen, truth)


def test_without_labels_it_is_the_blind_calibration_to_the_last_bit(place):
    E, T, truth, *_ = place
    blind = PRISM().fit(E, prototypes=T)
    for y in (np.full(len(truth), -1), [None] * len(truth), [""] * len(truth)):
        same = PRISM().fit(E, y, prototypes=T)
        np.testing.assert_array_equal(same.adapter_.W, blind.adapter_.W)
        assert same.verdict_.numbers == blind.verdict_.numbers


def test_more_labels_are_worth_more(place):
    truth = place[2]
    blind, few, many, all_of_them = (
        accuracy(place, y) for y in (None, drawn(truth, 3), drawn(truth, 12), truth)
    )
    assert blind < 0.97, "the place is too easy to show anything"
    assert few >= blind - 0.005
    assert many > blind
    assert all_of_them >= many


def test_all_labels_are_worth_at_least_a_linear_classifier_on_them(place):
    E, _, truth, unseen, unseen_truth = place
    best = max(
        LogisticRegression(C=C, max_iter=500).fit(E, truth).score(unseen, unseen_truth)
        for C in (1, 10, 100)
    )
    assert accuracy(place, truth) >= best - 0.005


def test_some_wrong_labels_and_labels_of_some_classes_do_no_harm(place):
    truth = place[2]
    blind = accuracy(place)
    y = drawn(truth, 8)
    wrong = y.copy()
    some = np.flatnonzero(y >= 0)[::20]
    wrong[some] = (y[some] + 1) % 8
    assert accuracy(place, wrong) >= blind - 0.005
    assert accuracy(place, np.where(y < 4, y, -1)) >= blind - 0.005
    assert accuracy(place, np.where(y == 0, y, -1)) >= blind - 0.005


@pytest.mark.parametrize(("C", "noise"), [(8, 1.2), (8, 1.6), (20, 1.2)])
def test_one_label_a_class_does_no_harm_where_clips_alone_tell_nothing(C, noise):
    gains = []
    for seed in range(3):
        E, T, truth = problem(1600, 48, C, noise=noise, rank=24, seed=seed)
        place = E[:400], T, truth[:400], E[400:], truth[400:]
        gains.append(accuracy(place, drawn(truth[:400], 1, seed)) - accuracy(place))
    assert min(gains) > -0.02
    assert np.mean(gains) > -0.005


def test_labels_of_some_classes_do_not_speak_against_the_others():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 10)), rng.integers(0, 3, 40)
    S = rng.standard_normal((40, 5))
    _, A, L = logistic.regress(x, S, y, np.arange(40) % 5)
    assert not A[:, 3:].any()
    np.testing.assert_array_equal(L[:, 3:], S[:, 3:])
    # The labelled ones do not rise above the others together.
    np.testing.assert_allclose(A.sum(axis=1), 0, atol=1e-3)


def test_left_out_clips_decide_which_head_is_believed():
    worse, better = np.full(20, 1.0), np.full(20, 0.5)
    assert labelled.believed(0.0, worse, better) > 0.99
    assert labelled.believed(1.0, better, worse) < 0.01
    assert labelled.believed(0.0, worse[:1], better[:1]) < 0.1
    assert labelled.believed(0.5, worse, worse) == pytest.approx(0.5)


def test_labels_drawn_by_chance_are_refused(place):
    E, T, truth, *_ = place
    y = np.where(drawn(truth, 10) >= 0, np.random.default_rng(0).integers(0, 8, len(truth)), -1)
    blind, model = PRISM().fit(E, prototypes=T), PRISM().fit(E, y, prototypes=T)
    np.testing.assert_array_equal(model.adapter_.W, blind.adapter_.W)
    assert model.verdict_.numbers["labels_used"] is False
    assert model.adapter_.facts.labels == 0
    assert "no better than labels drawn by chance" in model.verdict_.reasons[-1]


def test_the_verdict_tells_how_right_left_out_clips_are(place):
    E, T, truth, unseen, unseen_truth = place
    y = drawn(truth, 12)
    model = PRISM().fit(E, y, prototypes=T)
    numbers = model.verdict_.numbers
    assert numbers["labels"] == 96
    assert numbers["labelled_classes"] == 8
    assert model.adapter_.facts.labels == 96
    assert ("labels used", "96 labels") in model.adapter_.card()
    # 96 left-out clips against 900 unseen ones: three standard errors of the former.
    for name, fitted in (
        ("label_accuracy", model),
        ("label_accuracy_before", PRISM().fit(E, prototypes=T)),
    ):
        unseen_rate = fitted.score(unseen, unseen_truth)
        assert abs(numbers[name] - unseen_rate) < 3 * np.sqrt(0.25 / 96)


def test_the_order_of_rows_and_of_classes_does_not_matter(place):
    E, T, truth, unseen, _ = place
    y = drawn(truth, 5)
    model = PRISM().fit(E, y, prototypes=T)
    turned = np.random.default_rng(0).permutation(len(T))
    other = PRISM().fit(E, np.where(y >= 0, np.argsort(turned)[y], -1), prototypes=T[turned])
    # Which clips are left out together follows the number of the class, hence not all are the same.
    assert np.mean(turned[other.predict(unseen)] == model.predict(unseen)) > 0.97


def test_the_map_gives_the_scores_of_the_head(place):
    """transform, fold and predict of the adapter agree: the file format is the same as ever."""
    E, T, truth, unseen, _ = place
    adapter = PRISM().fit(E, drawn(truth, 5), prototypes=T).adapter_
    A, b = adapter.fold()
    np.testing.assert_array_equal((unseen @ A + b).argmax(axis=1), adapter.predict(unseen))
    np.testing.assert_array_equal(adapter.scores(unseen).argmax(axis=1), adapter.predict(unseen))


@pytest.mark.parametrize(("N", "C", "n"), [(2, 3, 2), (5, 8, 5), (6, 2, 1), (12, 1, 5), (9, 40, 3)])
def test_tiny_batches_stay_finite(N, C, n):
    E, T, truth = problem(N, 32, C)
    y = np.where(np.arange(N) < n, truth, -1)
    model = PRISM().fit(E, y, prototypes=T)
    assert np.isfinite(model.adapter_.W).all()
    assert model.verdict_.numbers["labels"] == n
    assert model.verdict_.reasons[-1].startswith(f"{n} labels")


def test_anchored_shares_are_those_of_one_hot_assignments():
    E, T, truth = problem(60, 16, 4)
    head = np.vstack([9 * T.T, np.zeros(4)])
    y = drawn(truth, 3)
    known = y >= 0
    shares = compose.find_shares(InMemory(E), [head])[0]
    both = labelled.anchored(shares, head, labelled.LabelledClips(E[known], y[known]))
    r = logistic.softmax(labelled.scores(E, head))
    for found, times in zip(both, (1, labelled.LABEL), strict=True):
        r[known] = times * np.eye(4)[y[known]]
        np.testing.assert_allclose(found.n_c, r.sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(found.sums, r.T @ E, atol=1e-9)


def test_parts_hold_every_class_evenly_and_keep_neighbours_together():
    y = np.repeat([0, 1, 2], [10, 7, 1])
    part = labelled.deal(y)
    for c, n in enumerate((10, 7, 1)):
        counts = np.bincount(part[y == c], minlength=labelled.PARTS)
        assert counts.max() - counts[counts > 0].min() <= 1
        assert (np.diff(part[y == c]) != 0).sum() == min(n, labelled.PARTS) - 1


def test_logistic_regression_without_offset_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((90, 6)), rng.integers(0, 3, 90)
    x[np.arange(90), y] += 1
    A = logistic.solve(x, np.zeros((90, 3)), y, 2.0, np.zeros((6, 3)))
    other = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-9, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(logistic.softmax(x @ A), other.predict_proba(x), atol=2e-3)


def test_a_regression_on_noise_changes_no_answer():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 20)), rng.integers(0, 4, 60)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    S = 5 * np.eye(4)[y] + rng.standard_normal((60, 4))
    _, A, L = logistic.regress(x, S, y, np.arange(60) % 5)
    np.testing.assert_array_equal((S + x @ A).argmax(axis=1), S.argmax(axis=1))
    assert logistic.log_loss(L, y).mean() <= logistic.log_loss(S, y).mean()

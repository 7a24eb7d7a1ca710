"""Reading scores: what the temperature and the threshold promise, and that they are honest enough."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import softmax

from prism_audio import PRISM, Adapter
from prism_audio.geometry.confidence import confidence, probabilities

from .problems import problem

RNG = np.random.default_rng(0)


def scores(N=200, C=6):
    return RNG.uniform(-0.2, 0.5, (N, C))


def test_the_formulas():
    S = scores()
    y_0 = S.argmax(axis=1)
    y_0[:30] = S[:30].argmin(axis=1)  # 30 of 200 labels were changed
    got = confidence(S, y_0, weight=0.8)
    error = (0.8 * 30 + 4) / (0.8 * 200 + 20)
    spread = np.mean([np.std(row) for row in S])
    assert got.temperature == pytest.approx(1.25 * spread * error**0.5)
    ordered = np.sort(S, axis=1)
    low, typical = np.percentile(ordered[:, -2], 25), np.median(ordered[:, -1])
    assert got.unknown_threshold == pytest.approx(low + 0.2 * (typical - low))


def test_other_units_and_origins_of_the_scores():
    S = scores()
    y_0 = RNG.integers(6, size=200)
    a, b = confidence(S, y_0), confidence(3 * S + 0.7, y_0)
    assert b.temperature == pytest.approx(3 * a.temperature)
    assert b.unknown_threshold == pytest.approx(3 * a.unknown_threshold + 0.7)


def test_more_changed_labels_make_it_less_sure():
    S = scores()
    y_0 = S.argmax(axis=1)
    found = []
    for changed in (0, 20, 60, 120, 200):
        other = y_0.copy()
        other[:changed] = (other[:changed] + 1) % 6
        found.append(confidence(S, other).temperature)
    assert (np.diff(found) > 0).all()


def test_where_nothing_is_corrected_the_zero_shot_labels_say_nothing():
    S = scores()
    given = [confidence(S, y_0, weight=0.0) for y_0 in (S.argmax(axis=1), S.argmin(axis=1))]
    assert given[0] == given[1]


@pytest.mark.parametrize(("N", "C"), [(1, 2), (1, 50), (2, 2), (300, 2), (5, 1)])
def test_odd_shapes_give_usable_numbers(N, C):
    S = RNG.uniform(-1, 1, (N, C)).astype(np.float32)
    temperature, threshold = confidence(S, S.argmax(axis=1), weight=0.5)
    assert 0 < temperature < np.inf
    assert threshold is None if C == 1 else np.isfinite(threshold)
    assert np.isfinite(probabilities(S, temperature)).all()


def test_classes_that_score_alike_share_the_probability():
    S = np.full((4, 5), 0.3)
    P = probabilities(S, confidence(S, np.zeros(4, dtype=np.intp)).temperature)
    np.testing.assert_allclose(P, 0.2)


@pytest.mark.parametrize("temperature", [1e-6, 0.05, 1e3])
def test_probabilities_are_a_softmax(temperature):
    S = scores()
    np.testing.assert_allclose(
        probabilities(S, temperature), softmax(S / temperature, axis=1), atol=1e-12
    )


def calibration_error(S, temperature, truth):
    P = softmax(S / temperature, axis=1)
    sure, right = P.max(axis=1), P.argmax(axis=1) == truth
    bins = np.minimum((10 * sure).astype(int), 9)
    return sum(abs(np.sum((sure - right)[bins == b])) for b in range(10)) / len(S)


def test_the_threshold_keeps_the_known_and_turns_foreign_sounds_away():
    E, T, truth = problem(2000, 48, 12)
    known = truth < 8
    model = PRISM().fit(E[:1000][known[:1000]], prototypes=T[:8])
    best, threshold = (
        model.decision_function(E[1000:]).max(axis=1),
        model.adapter_.facts["unknown_threshold"],
    )
    rejected = best < threshold
    assert rejected[known[1000:]].mean() < 0.05
    assert rejected[~known[1000:]].mean() > 0.2


def test_every_calibration_says_how_to_read_it(tmp_path):
    E, T, _ = problem(300, 16, 4)
    for preset in ("default", "paper", "released"):
        adapter = PRISM(preset).fit(E, prototypes=T).adapter_
        back = Adapter.load(adapter.save(tmp_path / "site.safetensors"))
        for name in ("temperature", "unknown_threshold"):
            assert back.facts[name] == adapter.facts[name]
            assert isinstance(back.facts[name], float)
    silent = PRISM().fit(np.zeros((5, 16)), prototypes=T).adapter_
    assert "temperature" not in silent.facts
    single = PRISM().fit(E, prototypes=T[:1]).adapter_
    assert json.dumps(single.facts["unknown_threshold"]) == "null"


def test_a_large_batch_is_read_from_a_sample_of_all_of_it():
    """Sorted by class, so that a reading from the first rows alone would be another one."""
    E, T, truth = problem(6000, 16, 4, dtype=np.float32)
    order = np.argsort(truth, kind="stable")
    facts = PRISM().fit(E[order], prototypes=T).adapter_.facts
    adapter = PRISM().fit(E, prototypes=T).adapter_
    wanted = confidence(
        adapter.scores(E), np.argmax(E @ T.T, axis=1), adapter.facts["numbers"]["weight"]
    )
    assert facts["temperature"] == pytest.approx(wanted.temperature, rel=0.1)
    assert facts["unknown_threshold"] == pytest.approx(wanted.unknown_threshold, abs=0.02)

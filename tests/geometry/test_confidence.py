"""Reading scores: what the temperature and the threshold promise, and that they are honest enough."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from prism_audio import PRISM, Adapter
from prism_audio.geometry.confidence import confidence, conviction, probabilities
from tests.helpers.problems import problem, unit

RNG = np.random.default_rng(0)


def scores(N=200, C=6):
    return RNG.uniform(-0.2, 0.5, (N, C))


@pytest.mark.parametrize(("agreement", "k"), [(None, 0.9), (0.95, 0.95), (0.2, 0.6)])
def test_the_formulas(agreement, k):
    S, S_0 = scores(), 0.3 * scores()
    got = confidence(S, S_0, agreement)
    spread, spread_0 = (np.mean([np.linalg.norm(row - row.mean()) for row in X]) for X in (S, S_0))
    assert got.temperature == pytest.approx(0.08 / k**3 * spread)
    h = got.zero_shot_share
    assert h == pytest.approx(spread / (spread + spread_0))
    rows = np.arange(200)
    order = np.argsort(S, axis=1)
    best, second = ((1 - h) * S[rows, order[:, -k]] + h * S_0[rows, order[:, -k]] for k in (1, 2))
    low, typical, high = np.median(second), np.median(best), np.percentile(best, 75)
    wanted = min(low + (typical - low) / 4, typical - 2 * (high - typical))
    assert got.unknown_threshold == pytest.approx(wanted)
    np.testing.assert_allclose(conviction(S, S_0, h)[:, 0], best)
    np.testing.assert_allclose(conviction(S, S_0, h, 2), np.stack([second, best], axis=1))


def test_where_nothing_was_adapted_nothing_is_unknown():
    S = scores()
    assert confidence(S, S).unknown_threshold is None
    assert confidence(S, S + 0.01).unknown_threshold is not None


def test_other_units_and_origins_of_the_scores():
    S, S_0 = scores(), scores()
    a, b = (confidence(x * S + y, x * S_0 + y) for x, y in ((1, 0), (3, 0.7)))
    assert b.temperature == pytest.approx(3 * a.temperature)
    assert b.zero_shot_share == pytest.approx(a.zero_shot_share)
    assert b.unknown_threshold == pytest.approx(3 * a.unknown_threshold + 0.7)


def test_without_a_correction_the_conviction_is_the_cosine():
    S = scores()
    for share in (0.0, 0.3, 0.5):
        np.testing.assert_allclose(conviction(S, S, share)[:, 0], S.max(axis=1))
    assert confidence(S, S).zero_shot_share == pytest.approx(0.5)


@pytest.mark.parametrize(("N", "C"), [(1, 2), (1, 50), (2, 2), (300, 2), (5, 1)])
def test_odd_shapes_give_usable_numbers(N, C):
    S = RNG.uniform(-1, 1, (N, C)).astype(np.float32)
    temperature, share, threshold = confidence(S, -S)
    assert 0 <= share <= 1
    assert 0 < temperature < np.inf
    assert threshold is None if C == 1 else np.isfinite(threshold)
    assert np.isfinite(probabilities(S, temperature)).all()


def test_classes_that_score_alike_share_the_probability():
    S = np.full((4, 5), 0.3)
    P = probabilities(S, confidence(S, S).temperature)
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


@pytest.mark.parametrize(("N", "noise", "blur"), [(24, 0.6, 1.0), (800, 0.6, 1.0), (24, 1.0, 0.5)])
def test_the_temperature_is_of_the_right_order(N, noise, blur):
    """With few clips, where it is zero-shot that is read, and with many."""
    E, T, truth = problem(1600, 32, 8, noise=noise)
    E = unit(E + blur * np.random.default_rng(1).standard_normal(E.shape) / np.sqrt(32))
    model = PRISM().fit(E[:N], prototypes=T)
    S, tau = model.decision_function(E[800:]), model.adapter_.facts.temperature
    errors = [calibration_error(S, tau * factor, truth[800:]) for factor in (0.05, 1, 20)]
    assert errors[1] < min(errors[0], errors[2])
    assert errors[1] < 0.2


def read(model, T, E):
    """Conviction of every row, and the threshold."""
    facts = model.adapter_.facts
    share = facts.zero_shot_share
    return conviction(model.decision_function(E), E @ T.T, share)[:, 0], facts.unknown_threshold


def test_the_threshold_keeps_the_known_and_turns_foreign_sounds_away():
    E, T, truth = problem(2000, 48, 12)
    known = truth < 8
    model = PRISM().fit(E[:1000][known[:1000]], prototypes=T[:8])
    sure, threshold = read(model, T[:8], E[1000:])
    assert np.mean(sure[known[1000:]] < threshold) < 0.05
    assert np.mean(sure[~known[1000:]] < threshold) > 0.2


def auroc(a, b):
    return np.mean(a[:, None] > b[None])


def test_foreign_sounds_in_the_batch_do_not_make_it_blind_to_them():
    """Half of the batch is foreign; the conviction tells them no worse than zero-shot does."""
    found = []
    for seed in range(4):
        E, T, truth = problem(1600, 48, 12, seed=seed, noise=1.0)
        T, known, test = T[:6], truth[800:] < 6, E[800:]
        model = PRISM().fit(E[:800], prototypes=T)
        sure, _ = read(model, T, test)
        plain = (test @ T.T).max(axis=1)
        found.append([auroc(x[known], x[~known]) for x in (plain, sure)])
    plain, both = np.mean(found, axis=0)
    assert both > plain - 0.01


def test_every_calibration_says_how_to_read_it(tmp_path):
    E, T, _ = problem(300, 16, 4)
    for preset in ("default", "paper", "released"):
        adapter = PRISM(preset).fit(E, prototypes=T).adapter_
        back = Adapter.load(adapter.save(tmp_path / "site.safetensors"))
        for name in ("temperature", "zero_shot_share", "unknown_threshold"):
            assert getattr(back.facts, name) == getattr(adapter.facts, name)
            assert isinstance(getattr(back.facts, name), float)
    silent = PRISM().fit(np.zeros((5, 16)), prototypes=T).adapter_
    assert silent.facts.temperature is None
    single = PRISM().fit(E, prototypes=T[:1]).adapter_
    assert single.facts.unknown_threshold is None


def test_a_large_batch_is_read_from_a_sample_of_all_of_it():
    """Sorted by class, so that a reading from the first rows alone would be another one."""
    E, T, truth = problem(6000, 16, 4, dtype=np.float32)
    order = np.argsort(truth, kind="stable")
    facts = PRISM().fit(E[order], prototypes=T).adapter_.facts
    adapter = PRISM().fit(E, prototypes=T).adapter_
    wanted = confidence(adapter.scores(E), E @ T.T, adapter.facts.numbers["weight"])
    assert facts.temperature == pytest.approx(wanted.temperature, rel=0.1)
    assert facts.unknown_threshold == pytest.approx(wanted.unknown_threshold, abs=0.02)

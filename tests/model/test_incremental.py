"""A place that grows: the same as one batch, in bounded memory, and forgetting where it is asked to."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio import PRISM, PrismError
from prism_audio.model.incremental import Reservoir
from tests.helpers.problems import problem, unit


def numbered(n, start=0):
    """Rows that say when they came."""
    return np.arange(start, start + n, dtype=np.float32)[:, None]


def filled(n, chunk, **settings):
    reservoir = Reservoir(**settings)
    for at in range(0, n, chunk):
        reservoir.add(numbered(min(chunk, n - at), at))
    return reservoir


@pytest.mark.parametrize("memory", [None, 150.0])
def test_what_is_held_does_not_depend_on_the_chunks(memory):
    wanted = filled(1000, 1000, capacity=120, memory=memory, seed=3).rows
    for chunk in (1, 7, 64, 333):
        got = filled(1000, chunk, capacity=120, memory=memory, seed=3)
        np.testing.assert_array_equal(got.rows, wanted)
        assert got.seen == 1000
    assert (np.diff(wanted[:, 0]) > 0).all(), "rows are in the order in which they came"


@pytest.mark.parametrize("memory", [None, 1e9])
def test_all_are_held_while_they_fit(memory):
    np.testing.assert_array_equal(filled(500, 9, capacity=500, memory=memory).rows, numbered(500))


def test_the_bound_holds_at_every_moment_and_nothing_of_the_caller_is_kept():
    reservoir = Reservoir(capacity=100)
    for at in range(0, 5000, 37):
        rows = numbered(37, at)
        reservoir.add(rows)
        assert len(reservoir.rows) == min(100, at + 37)
        assert reservoir.rows.base is None
        assert not np.shares_memory(reservoir.rows, rows)
    reservoir.add(numbered(4000))
    assert len(reservoir.rows) == 100


def test_without_forgetting_the_sample_is_uniform():
    arrivals = np.concatenate(
        [filled(1000, 100, capacity=50, seed=seed).rows[:, 0] for seed in range(40)]
    )
    counts = np.bincount((arrivals // 100).astype(int), minlength=10)
    # 2000 draws, 200 expected in each tenth; 5 standard deviations are 67.
    assert np.abs(counts - 200).max() < 67


def test_forgetting_is_exponential_in_age():
    ages = 20_000 - filled(20_000, 500, capacity=10**6, memory=2000.0).rows[:, 0]
    for low, high in ((0, 500), (500, 1500), (1500, 3000), (3000, 6000), (6000, 12_000)):
        expected = 2000 * (np.exp(-low / 2000) - np.exp(-high / 2000))
        got = np.sum((ages > low) & (ages <= high))
        assert abs(got - expected) < 5 * np.sqrt(expected), (low, high)


def test_a_full_reservoir_forgets_the_older_first():
    arrivals = filled(4000, 100, capacity=200, memory=1000.0).rows[:, 0]
    assert len(arrivals) == 200
    assert np.mean(arrivals > 3000) > 0.6
    assert arrivals.min() > 0


def test_the_seed_decides():
    def draw(seed):
        return filled(1000, 50, capacity=100, seed=seed).rows

    np.testing.assert_array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))


@pytest.mark.parametrize("chunk", [1, 13, 150, 400])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_arriving_in_chunks_equals_one_batch(chunk, preset):
    E, T, _ = problem(60 if chunk == 1 else 400, 24, 4, dtype=np.float32)
    site = PRISM(preset, K=5)
    for at in range(0, len(E), chunk):
        site.partial_fit(E[at : at + chunk], prototypes=T, labels=list("abcd"))
    wanted = PRISM(preset, K=5).fit(E, prototypes=T, labels=list("abcd"))
    np.testing.assert_array_equal(site.adapter_.W, wanted.adapter_.W)
    np.testing.assert_array_equal(site.labels_, wanted.labels_)
    assert site.adapter_.labels == ("a", "b", "c", "d")
    assert site.adapter_.facts.N == site.adapter_.facts.seen == len(E)


def test_a_place_starts_as_zero_shot_and_ends_adapted():
    E, T, truth = problem(600, 32, 5)
    site = PRISM().partial_fit(E[:1], prototypes=T)
    first = site.adapter_
    assert first.facts.verdict == "zero-shot"
    np.testing.assert_array_equal(first.predict(E), np.argmax(E @ T.T, axis=1))
    weights = []
    for at in range(1, 600, 60):
        adapter = site.partial_fit(E[at : at + 60]).adapter_
        weights.append(adapter.facts.numbers["weight"])
    assert (np.diff(weights) > -0.05).all()
    assert adapter.facts.verdict == "adapted"
    assert np.mean(adapter.predict(E) == truth) > np.mean(first.predict(E) == truth)


def test_partial_fit_corrects_the_shift_before_the_rest():
    """A place that sounds like one of the classes, heard a few clips at a time."""
    E, T, truth = problem(1200, 48, 6, noise=1.0)
    E = unit(E + 0.5 * T[2])
    model, seen, test = PRISM(), {}, slice(600, None)
    for at in range(0, 600, 12):
        model.partial_fit(E[at : at + 12], prototypes=T if at == 0 else None)
        right = np.mean(model.predict(E[test]) == truth[test])
        seen[at + 12] = (str(model.verdict_), right, model.verdict_.numbers)
    before = np.mean(np.argmax(E[test] @ T.T, axis=1) == truth[test])
    verdict, right, numbers = seen[24]
    assert verdict == "shrunk"
    assert numbers["shift_weight"] > 2 * numbers["weight"]
    assert right > before + 0.02
    assert seen[600][0] == "adapted"
    assert seen[600][1] > right
    np.testing.assert_array_equal(model.adapter_.W, PRISM().fit(E[:600], prototypes=T).adapter_.W)


def test_beyond_the_capacity_labels_stay_those_of_the_batch():
    E, T, _ = problem(6000, 32, 5, dtype=np.float32)
    sample = Reservoir(capacity=2000)
    for at in range(0, 6000, 500):
        sample.add(E[at : at + 500])
    assert (len(sample.rows), sample.seen) == (2000, 6000)
    adapter = PRISM().fit(sample.rows, prototypes=T).adapter_
    assert np.mean(adapter.predict(E) == PRISM().fit(E, prototypes=T).labels_) > 0.99


def places(T, seed, N=800):
    """Rows of the classes of ``T`` in two places that bend the space in opposite ways."""
    rng = np.random.default_rng(seed)
    C, d = T.shape
    bend = rng.standard_normal((C, d))  # what a place adds to each class
    for sign in (1, -1):
        truth = rng.permutation(np.arange(N) % C)
        rows = T[truth] + 0.11 * sign * bend[truth] + 0.2 * rng.standard_normal((N, d)) / np.sqrt(d)
        yield unit(rows), truth


def test_with_forgetting_the_answer_follows_a_change_of_place():
    T = problem(1, 32, 6)[1]

    def distance(memory, seed):
        (old, _), (new, _) = places(T, seed)
        sample = Reservoir(memory=memory)
        sample.add(old)
        sample.add(new)
        adapter = PRISM().fit(sample.rows, prototypes=T).adapter_
        wanted = PRISM().fit(new, prototypes=T).decision_function(new)
        return np.mean(np.abs(adapter.scores(new) - wanted))

    forgetting, keeping = (
        np.mean([distance(memory, seed) for seed in range(6)]) for memory in (200.0, None)
    )
    assert forgetting < 0.9 * keeping


@pytest.mark.parametrize(("name", "value"), [("capacity", 0), ("memory", 0.0), ("memory", -5)])
def test_a_wrong_setting_is_named(name, value):
    with pytest.raises(PrismError, match=name):
        Reservoir(**{name: value})


def test_partial_fit_is_fit_on_everything():
    E, T, _ = problem(300, 24, 4)
    grown, whole = PRISM(), PRISM().fit(E, prototypes=T, labels=list("abcd"))
    assert grown.partial_fit(E[:100], prototypes=T, labels=list("abcd")) is grown
    grown.partial_fit(E[100:299]).partial_fit(E[299:], prototypes=T)
    np.testing.assert_array_equal(grown.adapter_.W, whole.adapter_.W)
    np.testing.assert_array_equal(grown.labels_, whole.labels_)
    np.testing.assert_array_equal(grown.predict(E), whole.predict(E))
    assert grown.verdict_ == whole.verdict_
    assert grown.adapter_.labels == tuple("abcd")


def test_partial_fit_wants_prototypes_first_and_the_same_ever_after():
    E, T, _ = problem(100, 16, 3)
    model = PRISM()
    with pytest.raises(PrismError, match=r"prototypes=T \(C, d\)"):
        model.partial_fit(E)
    with pytest.raises(PrismError, match="NaN"):
        model.partial_fit(np.full((2, 16), np.nan), prototypes=T)
    assert not hasattr(model, "reservoir_"), "a call that failed leaves nothing behind"
    model.partial_fit(E, prototypes=T)
    with pytest.raises(PrismError, match="other prototypes"):
        model.partial_fit(E, prototypes=T[::-1])
    with pytest.raises(PrismError, match="expecting 16"):
        model.partial_fit(E[:, :15])
    assert model.reservoir_.seen == 100


def test_fit_starts_anew():
    E, T, _ = problem(100, 16, 3)
    model = PRISM().partial_fit(E, prototypes=T).fit(E[:50], prototypes=T)
    model.partial_fit(E[50:], prototypes=T)
    assert model.adapter_.facts.N == 50


def test_labels_come_in_with_their_rows():
    E, T, truth = problem(300, 24, 4, noise=1.2)
    names = list("abcd")
    y = np.where(np.arange(300) % 5 == 0, truth, -1)
    whole = PRISM().fit(E, y, prototypes=T, labels=names)
    grown = PRISM().partial_fit(E[:100], y[:100], prototypes=T, labels=names)
    grown.partial_fit(E[100:200], ["" if c < 0 else names[c] for c in y[100:200]])
    grown.partial_fit(E[200:], y[200:])
    np.testing.assert_array_equal(grown.adapter_.W, whole.adapter_.W)
    assert grown.adapter_.facts.labels == 60


def test_a_full_reservoir_keeps_labelled_rows():
    rows, y = np.arange(2000.0)[:, None], np.full(2000, -1)
    y[:50] = 1
    held = Reservoir(capacity=100)
    for part in np.split(np.arange(2000), 20):
        held.add(rows[part], y[part])
    assert len(held.rows) == len(held.y) == 100
    np.testing.assert_array_equal(held.rows[held.y == 1, 0], np.arange(50.0))

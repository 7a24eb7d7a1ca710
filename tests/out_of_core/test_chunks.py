"""A calibration in chunks is the calibration: same labels, same map, whatever the chunks."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio import PRISM, PrismError
from prism_audio.geometry.calibrate import SMALL
from prism_audio.geometry.source import pick
from prism_audio.out_of_core.chunks import open_chunks
from prism_audio.store.rows import open_table
from tests.helpers.problems import problem

PRESETS = ["paper", "default"]


def fit(X, T, preset="paper", **params):
    return PRISM(preset, K=8, **params).fit(X, prototypes=T)


def with_silence(E):
    """Rows of any length, among them silent ones."""
    rng = np.random.default_rng(0)
    E = E * rng.uniform(0.1, 9, (len(E), 1)).astype(E.dtype)
    E[rng.choice(len(E), 5, replace=False)] = 0
    return E


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("rows", [1, 7, 1000, 700])
def test_chunks_of_any_size_give_the_same(preset, rows):
    E, T, _ = problem(700, 48, 6, rank=8)
    E = with_silence(E)
    a, b = fit(E, T, preset), fit(open_chunks(E, rows), T, preset)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-10)
    assert a.verdict_ == b.verdict_


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("rows", [7, 1000, 5000])
def test_chunks_of_float32_rows_give_the_same(preset, rows):
    """More rows than a block, and more numbers than are calibrated in float64."""
    E, T, _ = problem(9000, 64, 8, dtype=np.float32, rank=8)
    assert E.size > SMALL
    E = with_silence(E)
    a, b = fit(E, T, preset), fit(open_chunks(E, rows), T, preset)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-4)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_order_of_chunks_does_not_matter(preset):
    E, T, _ = problem(700, 48, 6, rank=8)
    order = np.concatenate(np.random.default_rng(1).permutation(np.arange(700).reshape(-1, 70)))
    a, b = fit(open_chunks(E, 70), T, preset), fit(open_chunks(E[order], 70), T, preset)
    np.testing.assert_array_equal(a.labels_[order], b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-8)


@pytest.mark.parametrize(
    "params",
    [{"car": True}, {"abr": False}, {"abr": False, "car": True}, {"pct": False}, {"opca": False}],
    ids=str,
)
def test_every_component_works_in_chunks(params):
    E, T, _ = problem(500, 32, 5, rank=8)
    a, b = fit(E, T, **params), fit(open_chunks(E, 33), T, **params)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-8)


def test_the_released_script_is_given_all_rows_at_once():
    E, T, _ = problem(300, 16, 4, dtype=np.float32)
    a = PRISM("released").fit(E, prototypes=T)
    b = PRISM("released").fit(open_chunks(E, 13), prototypes=T)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_a_file_on_disk(tmp_path):
    E, T, _ = problem(3000, 32, 5, dtype=np.float32)
    np.save(tmp_path / "rows.npy", E)
    a, b = fit(E, T), fit(open_chunks(open_table(tmp_path / "rows.npy"), 999), T)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-8)


def test_rows_that_are_no_numbers_are_named():
    E, _, _ = problem(300, 16, 4)
    E[250, 3] = np.nan
    with pytest.raises(PrismError, match=r"counted from row 200, .* 1 row: 50"):
        open_chunks(E, 100)
    with pytest.raises(PrismError, match="at least one"):
        open_chunks(E, 0)


def test_only_silence_stays_zero_shot():
    model = fit(open_chunks(np.zeros((50, 16)), 7), np.eye(3, 16))
    assert model.verdict_ == "zero-shot"
    assert len(model.labels_) == 50


def test_a_sample_is_of_all_rows_in_their_order():
    E, _, _ = problem(500, 16, 4)
    source = open_chunks(E, 60)
    np.testing.assert_allclose(pick(source, 1000), E)
    few = pick(source, 40)
    places = [int(np.flatnonzero((row == E).all(axis=1))[0]) for row in few]
    assert places == sorted(places)
    assert min(places) < 100
    assert max(places) > 400


def test_marked_rows_are_those_of_an_array():
    E, _, _ = problem(400, 16, 4)
    marks = np.random.default_rng(2).random(400) < 0.4
    source = open_chunks(E, 37).only(marks)
    assert source.shape == (int(marks.sum()), 16)
    np.testing.assert_allclose(pick(source, 1000), E[marks])
    half = np.arange(int(marks.sum())) % 2 == 0
    np.testing.assert_allclose(pick(source.only(half), 1000), E[marks][half])


def test_labels_in_chunks_are_labels_in_memory():
    E, T, truth = problem(700, 48, 6, rank=8)
    E = with_silence(E)
    y = np.where(np.arange(700) % 9 == 0, truth, -1)
    a, b = (PRISM().fit(X, y, prototypes=T) for X in (E, open_chunks(E, 70)))
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-6)
    assert a.adapter_.facts.labels == b.adapter_.facts.labels > 70

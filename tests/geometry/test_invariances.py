"""What the mathematics promises, whatever the numbers: order, scale, permutation, rotation, threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from prism_audio import PRISM
from tests.helpers.problems import problem

shapes = st.tuples(st.integers(30, 300), st.integers(6, 40), st.integers(2, 6))
seeds = st.integers(0, 10_000)
quick = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
PRESETS = ["paper", "default"]


def fit(E, T, preset="paper"):
    return PRISM(preset, K=max(1, E.shape[1] // 5)).fit(E, prototypes=T)


@pytest.mark.parametrize("preset", PRESETS)
@quick
@given(shapes, seeds)
def test_the_order_of_rows_does_not_matter(preset, shape, seed):
    E, T, _ = problem(*shape, seed=seed)
    order = np.random.default_rng(seed).permutation(len(E))
    a, b = fit(E, T, preset), fit(E[order], T, preset)
    np.testing.assert_array_equal(a.labels_[order], b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
@quick
@given(shapes, seeds)
def test_the_length_of_rows_does_not_matter(preset, shape, seed):
    E, T, _ = problem(*shape, seed=seed)
    rng = np.random.default_rng(seed)
    lengths = np.exp(rng.uniform(-20, 20, (len(E), 1)))
    a, b = fit(E, T, preset), fit(E * lengths, T * rng.uniform(0.1, 9, (len(T), 1)), preset)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.predict(E), b.predict(E * lengths))
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
@quick
@given(shapes, seeds)
def test_permuted_classes_permute_the_answer(preset, shape, seed):
    E, T, _ = problem(*shape, seed=seed)
    order = np.random.default_rng(seed).permutation(len(T))
    a, b = fit(E, T, preset), fit(E, T[order], preset)
    np.testing.assert_array_equal(a.labels_, order[b.labels_])
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
@quick
@given(shapes, seeds)
def test_a_common_rotation_rotates_the_map(preset, shape, seed):
    E, T, _ = problem(*shape, seed=seed)
    Q = ortho_group.rvs(E.shape[1], random_state=seed)
    a, b = fit(E, T, preset), fit(E @ Q, T @ Q, preset)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.decision_function(E), b.decision_function(E @ Q), atol=1e-5)
    np.testing.assert_allclose(a.transform(E) @ Q, b.transform(E @ Q), atol=1e-5)


@pytest.mark.parametrize("preset", ["paper", "default", "released"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_runs_agree_to_the_bit(preset, dtype):
    E, T, _ = problem(700, 48, 6, dtype=dtype)
    a, b = fit(E, T, preset), fit(E, T, preset)
    np.testing.assert_array_equal(a.adapter_.W, b.adapter_.W)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("shape", [(700, 48, 6), (6000, 64, 8)], ids=str)
def test_one_or_two_threads_agree(preset, shape):
    # K is the rank of the noise: between equal eigenvalues no cut is determined by the data.
    E, T, _ = problem(*shape, dtype=np.float32, rank=8)
    model = PRISM(preset, K=8)
    with threadpool_limits(1):
        a = clone(model).fit(E, prototypes=T)
    with threadpool_limits(2):
        b = clone(model).fit(E, prototypes=T)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.adapter_.W, b.adapter_.W, atol=1e-5)


@pytest.mark.parametrize("preset", ["paper", "default", "released"])
def test_no_rounds_is_the_identity(preset):
    E, T, _ = problem(200, 32, 5, dtype=np.float32)
    model = PRISM(preset, rounds=0).fit(E, prototypes=T)
    np.testing.assert_allclose(model.transform(E), E, atol=1e-6)
    np.testing.assert_array_equal(model.predict(E), np.argmax(E @ T.T, axis=1))


@pytest.mark.parametrize("preset", ["paper", "default", "released"])
def test_the_folded_head_gives_the_labels_of_the_full_map(preset):
    E, T, _ = problem(10_000, 64, 12, dtype=np.float32, noise=0.9)
    model = fit(E[:3000], T, preset)
    A, b = model.adapter_.fold()
    full = model.transform(E) @ model.adapter_.prototypes.T
    np.testing.assert_array_equal(model.predict(E), np.argmax(E @ A + b, axis=1))
    top = np.sort(full, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-5  # a tie is a tie in any arithmetic
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(model.predict(E)[clear], np.argmax(full, axis=1)[clear])


def test_float32_and_float64_agree():
    E, T, _ = problem(6000, 64, 8)
    a = fit(E.astype(np.float32), T.astype(np.float32))
    b = fit(E, T)
    assert a.transform(E.astype(np.float32)).dtype == np.float32
    assert a.adapter_.W.dtype == np.float32
    assert np.mean(a.labels_ == b.labels_) > 0.999
    np.testing.assert_allclose(a.decision_function(E), b.decision_function(E), atol=1e-3)

"""Every operator and the whole loop against the slow float64 transcription of the paper."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.geometry.abr import abr, apply_map
from prism_audio.geometry.calibrate import SMALL, calibrate
from prism_audio.geometry.car import car
from prism_audio.geometry.ccvd import ccvd
from prism_audio.geometry.opca import opca
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.pct import pct
from tests.helpers import oracle
from tests.helpers.problems import SHAPES, problem

TOLERANCE = 1e-4


def cosine_gap(X, Y):
    """Largest 1 - cosine, and largest difference of an entry, between rows of X and Y."""
    X, Y = oracle.unit(X), oracle.unit(Y)
    return max(np.max(1 - np.sum(X * Y, axis=1)), np.max(np.abs(X - Y)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_operator_agrees(shape, dtype):
    E, T, _ = problem(*shape, dtype=dtype)
    E64, T64 = oracle.unit(E), oracle.unit(T)
    assert oracle.pseudo(E64, T64)[1].min() > 0, "the printed weights want positive confidences"
    aligned = oracle.opca(E64, T64)
    assert cosine_gap(opca(E, T), aligned) < TOLERANCE
    deflated = oracle.ccvd(aligned, T64, K=12)
    assert cosine_gap(ccvd(aligned.astype(dtype), T, K=12), deflated) < TOLERANCE
    moved = oracle.pct(deflated, T64)
    assert cosine_gap(pct(deflated.astype(dtype), T), moved) < TOLERANCE
    blended = oracle.car(E64, moved, T64)
    np.testing.assert_allclose(car(E, moved.astype(dtype), T), blended, atol=TOLERANCE)
    W = oracle.abr(E64, blended)
    got = abr(E, blended.astype(dtype))
    assert cosine_gap(apply_map(E, got), oracle.apply(E64, W)) < TOLERANCE


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("with_car", [False, True], ids=["prism", "prism+car"])
def test_the_whole_loop_agrees(shape, dtype, with_car):
    E, T, _ = problem(*shape, dtype=dtype)
    K = min(60, shape[1] // 4)
    result = calibrate(E, T, Parameters(K=K, car=with_car))
    _, E_cur = oracle.prism(E, T, K=K, car_on=with_car)
    T64 = oracle.unit(T)
    got = oracle.apply(oracle.unit(E), result.W) @ T64.T
    np.testing.assert_allclose(got, E_cur @ T64.T, atol=TOLERANCE)
    assert np.mean(result.labels == np.argmax(E_cur @ T64.T, axis=1)) > 0.999


@pytest.mark.parametrize("shape", [(9000, 64, 8), (6000, 128, 12)], ids=str)
def test_a_batch_too_large_for_float64_agrees(shape):
    """Larger than ``SMALL``: the float32 path. The cut is put where the spectrum has a gap."""
    E, T, _ = problem(*shape, dtype=np.float32, rank=8)
    assert E.size > SMALL
    result = calibrate(E, T, Parameters(K=8))
    twin = calibrate(E.astype(np.float64), T.astype(np.float64), Parameters(K=8))
    got = oracle.apply(oracle.unit(E), result.W) @ oracle.unit(T).T
    wanted = oracle.apply(oracle.unit(E), twin.W) @ oracle.unit(T).T
    np.testing.assert_allclose(got, wanted, atol=TOLERANCE)

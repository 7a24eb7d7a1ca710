"""Input at the edge of what has a meaning: finite in gives finite out, and no surprises."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio import PRISM, PrismError
from prism_audio.geometry.calibrate import calibrate
from prism_audio.geometry.ccvd import find_scatter, noise_subspace
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.rows import original
from prism_audio.geometry.source import InMemory
from tests.helpers.problems import problem, unit

PRESETS = ["paper", "released", "default"]
RNG = np.random.default_rng(0)


def rows(N, d):
    return unit(RNG.standard_normal((N, d)))


def check(E, T, preset, **params):
    """Fit, and assert that everything that comes out is finite and of the right shape."""
    model = PRISM(preset, **params).fit(E, prototypes=T)
    out = model.transform(E)
    assert out.shape == np.shape(E)
    assert np.isfinite(out).all()
    assert np.isfinite(model.adapter_.W).all()
    scores = model.decision_function(E)
    assert scores.shape == (len(E), len(T))
    assert np.isfinite(scores).all()
    labels = model.predict(E)
    assert ((labels >= 0) & (labels < len(T))).all()
    assert model.verdict_ in ("adapted", "shrunk", "zero-shot")
    return model


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("N", "d", "C"),
    [(1, 8, 3), (1, 1, 1), (2, 8, 3), (5, 64, 3), (3, 8, 20), (40, 8, 1), (30, 4, 40), (50, 2, 2)],
)
def test_odd_shapes(preset, N, d, C):
    check(rows(N, d), rows(C, d), preset)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_one_clip_or_one_class_changes_no_label(preset):
    E, T = rows(1, 8), rows(3, 8)
    assert check(E, T, preset).labels_ == np.argmax(E @ T.T, axis=1)
    assert (check(rows(40, 8), rows(1, 8), preset).labels_ == 0).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_class_that_nobody_is_predicted_as(preset):
    E, T, _ = problem(200, 16, 4)
    unheard = unit(-E.mean(axis=0, keepdims=True))
    model = check(E, np.vstack([T, unheard]), preset)
    if preset != "released":
        assert (model.labels_ != 4).mean() > 0.9


@pytest.mark.parametrize("preset", PRESETS)
def test_all_clips_of_one_class(preset):
    T = rows(5, 32)
    E = unit(T[2] + 0.1 * rows(100, 32))
    model = check(E, T, preset)
    assert (model.labels_ == 2).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_duplicate_prototypes(preset):
    E, T, _ = problem(200, 16, 4)
    check(E, np.vstack([T, T[:2]]), preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_duplicate_rows(preset):
    E, T, _ = problem(8, 16, 4)
    check(np.repeat(E, 50, axis=0), T, preset)


def test_identical_rows_in_every_class_deflate_nothing():
    T = np.eye(3, 16)
    E = np.repeat(unit(T + 0.1), 40, axis=0).astype(np.float32)
    rows = original(InMemory(E), T.astype(np.float32))
    scatter = find_scatter(rows, 3, 1.0)
    assert noise_subspace(scatter, 10, 1e-4, E.dtype).shape == (16, 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_zero_rows_are_left_out_of_the_calibration(preset):
    E, T, _ = problem(200, 16, 4)
    holes = E.copy()
    holes[::7] = 0
    model = check(holes, T, preset)
    kept = np.delete(E, np.arange(0, 200, 7), axis=0)
    np.testing.assert_allclose(model.adapter_.W, check(kept, T, preset).adapter_.W, atol=1e-12)


@pytest.mark.parametrize("preset", PRESETS)
def test_only_silence_stays_zero_shot(preset):
    assert check(np.zeros((20, 8)), rows(3, 8), preset).verdict_ == "zero-shot"


def test_zero_prototypes_are_refused():
    with pytest.raises(PrismError, match=r"all zero in rows \[1\]"):
        PRISM().fit(rows(9, 8), prototypes=np.array([np.ones(8), np.zeros(8)]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused_with_their_rows(bad):
    E, T = rows(9, 8), rows(3, 8)
    E[4, 2] = E[7, 0] = bad
    with pytest.raises(PrismError, match=r"2 rows: 4, 7"):
        PRISM().fit(E, prototypes=T)
    with pytest.raises(PrismError, match="prototypes contains NaN or infinity in 1 row: 1"):
        PRISM().fit(rows(9, 8), prototypes=np.where(np.arange(3)[:, None] == 1, bad, T))
    model = PRISM().fit(rows(40, 8), prototypes=T)
    for method in (model.predict, model.transform, model.decision_function):
        with pytest.raises(PrismError, match=r"2 rows: 4, 7"):
            method(E)


def test_a_wrong_width_says_both_widths():
    with pytest.raises(PrismError, match="prototypes has 9 dimensions, wanted 8"):
        PRISM().fit(rows(20, 8), prototypes=rows(3, 9))
    model = PRISM().fit(rows(20, 8), prototypes=rows(3, 8))
    with pytest.raises(PrismError, match="X has 9 features, but PRISM is expecting 8"):
        model.predict(rows(5, 9))


@pytest.mark.parametrize("preset", PRESETS)
def test_more_directions_than_there_are(preset):
    E, T, _ = problem(200, 16, 4)
    check(E, T, preset, K=16)
    check(E, T, preset, K=1000)


def test_the_deflated_rank_is_bounded():
    E, T, _ = problem(200, 16, 4)
    assert all(r["deflated_rank"] <= 12 for r in calibrate(E, T, Parameters(K=1000)).rounds)
    E, T, _ = problem(20, 64, 4)
    assert all(r["deflated_rank"] <= 14 - 1 for r in calibrate(E, T).rounds)


@pytest.mark.parametrize(
    "kind", ["float16", "int", "strided", "fortran", "readonly", "memmap", "list"]
)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_layout_of_an_array(kind, preset, tmp_path):
    E, T, _ = problem(120, 16, 3, dtype=np.float32)
    if kind == "int":
        E = np.rint(E * 100)
    given = {
        "float16": lambda: E.astype(np.float16),
        "int": lambda: E.astype(np.int32),
        "strided": lambda: np.repeat(np.repeat(E, 2, axis=0), 3, axis=1)[::2, ::3],
        "fortran": lambda: np.asfortranarray(E),
        "readonly": lambda: E.view(),
        "memmap": lambda: np.memmap(tmp_path / "E", dtype=np.float32, mode="w+", shape=E.shape),
        "list": lambda: E.tolist(),
    }[kind]()
    if kind == "readonly":
        given.flags.writeable = False
    if kind == "memmap":
        given[:] = E
    before = np.array(given, copy=True)
    model = check(given, T, preset)
    np.testing.assert_array_equal(before, np.asarray(given))
    if preset != "released":  # whose rotation hangs on the last bit of its input
        tolerance = 5e-2 if kind == "float16" else 1e-4
        wanted = check(E, T, preset).decision_function(E)
        np.testing.assert_allclose(model.decision_function(given), wanted, atol=tolerance)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_rows_of_any_length(scale):
    E, T, _ = problem(100, 16, 3)
    model = check(E * scale, T, "paper")
    np.testing.assert_array_equal(model.labels_, check(E, T, "paper").labels_)
    assert model.adapter_.predict_one(E[0] * scale) == model.predict(E[:1])[0]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("rounds", -1), ("rounds", 1.5), ("p", 1.2), ("q", -0.1), ("K", -3), ("alpha", 2), ("lam", 0),
        ("eps", 0), ("gamma", -1), ("rho", 0), ("deflation", "medium"), ("ridge_centre", "one"),
        ("preset", "best"), ("p", "all"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(parameter, value):
    with pytest.raises(PrismError, match=parameter):
        PRISM(**{parameter: value}).fit(rows(20, 8), prototypes=rows(3, 8))

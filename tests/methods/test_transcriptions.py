"""Every method against a second, slow transcription of its equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_audio.methods import METHODS, Context, make
from prism_audio.methods.affine import Scores
from tests.helpers import oracle
from tests.helpers import slow_methods as slow
from tests.helpers.shift import shifted, text_context, unit

# N, d, C: many and few clips a class, fewer clips than dimensions, more classes than clips.
SHAPES = [(150, 24, 5), (60, 96, 4), (40, 16, 12), (20, 32, 25)]
BACKGROUND = {"contextda_text": 3, "contextda_audio": 1}
# The estimator has its own oracle, and a descent is compared where it ends: see below.
ELSEWHERE = {"prism", "prism_paper", "prism_released", "prism_car", "tent_affine", "conmix_affine"}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ELSEWHERE])
def test_same_labels_as_the_transcription(name, shape):
    N, d, C = shape
    # Cosines as close together as CLAP's, so that posteriors are neither flat nor all certain.
    E, T, _, _ = shifted(N, d, C, seed=3, shift=2.5, spread=1.5)
    context = Context()
    if name in BACKGROUND:
        rows = unit(np.random.default_rng(1).standard_normal((BACKGROUND[name], d)))
        context = Context(background_text=rows, background_audio=rows)
        expected = slow.contextda(E, T, rows)
    elif METHODS[name].needs:
        context = text_context(T, spread=2.0)
        expected = getattr(slow, name)(E, T, getattr(context, METHODS[name].needs))
    else:
        expected = getattr(slow, name)(E, T)
    assert make(name).fit(E, T, context).labels.tolist() == list(expected)


@pytest.mark.parametrize("scale", [8.0, 30.0])
@pytest.mark.parametrize("name", ["tda", "sinkhorn", "gaussian_em", "stata", "transclip", "onzeta"])
def test_same_labels_at_another_scale(name, scale):
    E, T, _, _ = shifted(120, 24, 6, seed=4)
    labels = make(name, scale=scale).fit(E, T).labels
    assert labels.tolist() == list(getattr(slow, name)(E, T, s=scale))


@pytest.mark.parametrize("name", ["tda", "stata", "transclip", "onzeta", "zlap"])
def test_same_labels_for_unseen_clips(name):
    """Where the answer for a batch is more than the answers for its clips."""
    E, T, _, _ = shifted(120, 24, 6, seed=4, spread=2.0)
    new = shifted(80, 24, 6, seed=7, spread=2.0)[0]
    assert make(name).fit(E, T).predict(new).tolist() == getattr(slow, name)(E, T, unseen=new)


def test_even_class_proportions():
    E, T, _, _ = shifted(120, 24, 6, seed=4)
    labels = make("gaussian_em", scale=10.0, prior="even").fit(E, T).labels
    assert labels.tolist() == slow.gaussian_em(E, T, s=10.0, prior="even")
    assert labels.tolist() != slow.gaussian_em(E, T, s=10.0)


def test_clips_that_point_away_from_each_other():
    rng = np.random.default_rng(3)
    for _ in range(20):
        E, T = unit(rng.standard_normal((6, 8))), unit(rng.standard_normal((9, 8)))
        assert make("zlap").fit(E, T).labels.tolist() == slow.zlap(E, T)
        assert make("stata", scale=10.0).fit(E, T).labels.tolist() == slow.stata(E, T, s=10.0)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "zero_shot"])
def test_the_transcriptions_say_something(name):
    """They would not if a method changed no label of zero-shot in the cases above."""
    changed = 0
    for N, d, C in [*SHAPES, (400, 96, 8)]:
        E, T, _, background = shifted(N, d, C, seed=3, shift=2.5, spread=1.5)
        text = text_context(T, spread=2.0)
        context = replace(text, background_text=[background], background_audio=background)
        fitted = make(name).fit(E, T, context)
        changed += int(np.sum(fitted.labels != np.argmax(E @ T.T, axis=1)))
    assert changed > 0


@pytest.mark.parametrize(("N", "d", "C"), [(25, 12, 4), (12, 15, 3)])
@pytest.mark.parametrize(
    ("name", "steps"),
    [("tent_affine", {"steps": 6}), ("conmix_affine", {"rounds": 2, "steps": 3})],
)
def test_a_descent_ends_where_finite_differences_lead(name, steps, N, d, C):
    E, T, _, _ = shifted(N, d, C, seed=3, shift=2.5, spread=1.5)
    # Steps so large that every part of the loss shows in where they lead.
    method = make(name, rate=0.05, scale=10.0, **steps)
    at = method.train(Scores(E, T, 10.0))
    gain, bias = getattr(slow, name)(E, T, s=10.0, rate=0.05, **steps)
    np.testing.assert_allclose(at, [gain, bias], atol=1e-5)


@pytest.mark.parametrize(("name", "car"), [("prism_paper", False), ("prism_car", True)])
def test_prism_is_algorithm_1(name, car):
    E, T, _, _ = shifted(400, 96, 8, seed=5)
    W, E_cur = oracle.prism(E, T, car_on=car)
    fitted = make(name).fit(E, T)
    assert np.array_equal(fitted.labels, np.argmax(E_cur @ T.T, axis=1))
    unseen = shifted(100, 96, 8, seed=6)[0]
    assert np.array_equal(fitted.predict(unseen), np.argmax(oracle.apply(unseen, W) @ T.T, axis=1))

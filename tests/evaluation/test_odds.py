"""The odds that an answer is right: the fit against a search, and clips that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from prism_audio.evaluation.odds import EDGE, KAPPA, SLOPE_DEVIATION, evidence, fit_slope


def penalised(theta: np.ndarray, x: np.ndarray, a: np.ndarray) -> float:
    """What the slope should make smallest, written down anew."""
    c, b = theta
    logits = c + b * x
    likelihood = (a * log_expit(logits) + (1 - a) * log_expit(-logits)).sum()
    d = expit(logits) * expit(-logits)
    prior = 1 / SLOPE_DEVIATION**2
    information = d.sum() * ((d * x * x).sum() + prior) - (d * x).sum() ** 2
    return float(-likelihood - KAPPA * np.log(information) + prior * (b - 1) ** 2 / 2)


@pytest.mark.parametrize("n", [3, 10, 30, 200])
def test_the_slope_is_that_of_the_penalised_likelihood(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        x = rng.normal(1.5, 1.5, n)
        a = (rng.random(n) < expit(0.7 * x - 0.5)).astype(float)
        best = minimize(penalised, [0, 1], args=(x, a), method="Nelder-Mead", tol=1e-10)
        assert fit_slope(x, a) == pytest.approx(best.x[1], abs=1e-4)


def test_clips_that_separate_right_from_wrong_leave_the_slope_finite() -> None:
    x = np.array([-4.0, -3, -2, 2, 3, 4])
    steep = fit_slope(x, (x > 0).astype(float))
    assert 0.5 < steep < 3
    assert fit_slope(np.tile(x, 4), (np.tile(x, 4) > 0).astype(float)) > steep


def test_clips_that_say_nothing_of_the_slope_leave_it_at_one() -> None:
    assert fit_slope(np.empty(0), np.empty(0)) == 1
    for right in (0.0, 1.0):
        assert fit_slope(np.full(20, 0.0), np.full(20, right)) == pytest.approx(1)


def test_many_clips_give_the_true_slope() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(1, 2, 20_000)
    a = (rng.random(len(x)) < expit(0.6 * x - 1)).astype(float)
    assert fit_slope(x, a) == pytest.approx(0.6, abs=0.02)


def test_a_probability_that_is_too_sure_is_read_up_to_the_edge() -> None:
    x = evidence(np.array([0.0, EDGE / 2, EDGE, 0.5, 1.0]))
    assert x[0] == x[1] == x[2] == pytest.approx(-x[4])
    assert x[3] == 0

"""How much better one answer is than another: Tango's variance by search, and what more clips settle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from prism_audio.evaluation.difference import _tango, difference


@pytest.mark.parametrize(
    ("alpha", "beta", "delta"), [(0.3, 0.1, 0.0), (0.4, 0, 0.2), (0.1, 0.3, 0.4)]
)
def test_the_variance_of_a_difference_is_that_of_the_likeliest_shares(
    alpha: float, beta: float, delta: float
) -> None:
    def cost(q: float) -> float:
        shares = np.array([q + delta, q, 1 - 2 * q - delta])
        seen = np.array([alpha, beta, 1 - alpha - beta])
        return float(-(seen * np.log(shares))[seen > 0].sum())

    top = (1 - delta) / 2 - 1e-9
    q = minimize_scalar(cost, bounds=(max(0, -delta) + 1e-12, top), method="bounded").x
    assert _tango(alpha, beta, delta) == pytest.approx(2 * q + delta - delta**2, abs=1e-4)


def test_more_clips_settle_what_few_cannot() -> None:
    few = difference(0.5, np.array([1.0, 1, 1, -1, 0]), np.full(5, 0.01), 10)
    assert few.interval.low < 0 < few.interval.high
    assert 0.5 < few.confidence < 0.975
    assert few.more is not None
    times = 1 + few.more // 10
    gains = np.tile([1.0, 1, 1, -1, 0], times + 1)
    settled = difference(0.5, gains, np.full(len(gains), 0.01), 10 * (times + 1))
    assert settled.interval.low > 0
    assert settled.more == 0
    other = difference(0.5, -gains, np.full(len(gains), 0.01), 10 * (times + 1))
    assert other.interval == pytest.approx([-settled.interval[i] for i in (0, 2, 1)])
    assert other.confidence == pytest.approx(1 - settled.confidence)


def test_the_interval_holds_what_was_seen_where_all_differences_are_one_way() -> None:
    for gain in (1.0, -1.0):
        (value, low, high), _, _ = difference(0.5, np.full(3, gain), np.full(3, 0.1), 10)
        assert value == 0.5 * gain
        assert low <= value <= high
        assert high - low > 0.1

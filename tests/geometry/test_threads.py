"""Threads of a calibration: the same result on any number, BLAS left as it was, errors passed on."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from prism_audio.geometry import threads
from prism_audio.geometry.calibrate import calibrate
from prism_audio.geometry.threads import bounded_threads, side_by_side
from prism_audio.model.presets import PRESETS
from tests.helpers.problems import problem


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def cores(monkeypatch):
    """A machine with as many cores as the test says."""
    return lambda number: monkeypatch.setattr(threads, "_cores", lambda: number)


def test_blas_has_one_thread_until_the_last_user_leaves():
    with threadpool_limits(3, user_api="blas"):
        first, second = bounded_threads(), bounded_threads()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {3}


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_come_in_the_order_of_the_items(cores, number, count):
    cores(number)

    def square(item: int) -> int:
        time.sleep(0.002 * (item % 3))
        return item * item

    with bounded_threads():
        assert list(side_by_side(square, iter(range(count)))) == [n * n for n in range(count)]


def test_work_runs_at_the_same_time(cores):
    cores(2)
    meeting = threading.Barrier(2, timeout=20)
    with bounded_threads():
        assert sorted(side_by_side(lambda _: meeting.wait(), range(2))) == [0, 1]


def test_items_are_not_taken_far_ahead(cores):
    cores(2)
    taken = []
    with bounded_threads():
        results = side_by_side(lambda item: item, (taken.append(n) or n for n in range(100)))
        next(results)
        assert len(taken) <= 4
        results.close()


def test_an_error_is_passed_on(cores):
    cores(2)
    with pytest.raises(ZeroDivisionError), bounded_threads():
        list(side_by_side(lambda item: 1 // item, [1, 0, 2]))
    assert threads._THREADS.pool is None


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_calibration_does_not_depend_on_the_number_of_threads(cores, preset):
    E, T, _ = problem(2500, 24, 5)
    maps = []
    for number in (1, 2, 5):
        cores(number)
        maps.append(calibrate(E.astype(np.float32), T.astype(np.float32), PRESETS[preset]).W)
    np.testing.assert_array_equal(maps[0], maps[1])
    np.testing.assert_array_equal(maps[0], maps[2])

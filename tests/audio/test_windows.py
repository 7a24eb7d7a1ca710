"""Windows: against a slow transcription of the rule, whatever blocks the sound comes in."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_audio.audio.windows import windows
from prism_audio.errors import InputError

RATE = 1000


def by_the_rule(sound: np.ndarray, size: int, step: int) -> list[tuple[int, np.ndarray, int]]:
    """(start, padded samples, real samples) of each k whose window holds sound not held before."""
    found, heard = [], np.zeros(len(sound), bool)
    for start in range(0, len(sound), step):
        part = sound[start : start + size]
        if not heard[start : start + size].all():
            found.append((start, np.pad(part, (0, size - len(part))), len(part)))
        heard[start : start + size] = True
    return found


@st.composite
def cut_sounds(draw):
    length = draw(st.integers(0, 200))
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=8)))
    sound = np.arange(1, length + 1, dtype=np.float32)
    return sound, np.split(sound, cuts)


@settings(deadline=None)  # a busy machine is no failure
@given(cut_sounds(), st.integers(1, 60), st.integers(1, 80))
def test_windows_follow_the_rule_whatever_the_blocks(cut, size, step):
    sound, blocks = cut
    found = list(windows(blocks, RATE, size / RATE, step / RATE))
    expected = by_the_rule(sound, size, step)
    assert len(found) == len(expected)
    for window, (start, samples, real) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(window.samples, samples)
        assert window.samples.dtype == np.float32
        assert (window.start, window.weight) == (start / RATE, real / RATE)
        assert window.end == (start + real) / RATE


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(1, 500), st.integers(1, 60), st.integers(1, 60))
def test_with_hops_no_longer_than_windows_no_sound_is_lost(length, size, step):
    step = min(size, step)
    sound = np.arange(1, length + 1, dtype=np.float32)
    heard = set()
    for window in windows([sound], RATE, size / RATE, step / RATE):
        heard |= set(window.samples[window.samples > 0].tolist())
    assert heard == set(sound.tolist())


def test_side_by_side_windows_weigh_what_the_sound_lasts():
    found = list(windows([np.ones(2345, np.float32)], RATE, 1.0, 1.0))
    assert [window.weight for window in found] == [1.0, 1.0, 0.345]


def test_a_tail_that_adds_nothing_gives_no_window():
    count = {
        n: len(list(windows([np.ones(n, np.float32)], RATE, 0.1, 0.05))) for n in range(50, 160)
    }
    assert count[50] == count[99] == count[100] == 1
    assert count[101] == count[150] == 2
    assert count[151] == 3


def test_windows_do_not_share_memory():
    found = list(windows([np.arange(100, dtype=np.float32)], RATE, 0.02, 0.01))
    found[0].samples[:] = -1
    assert (found[1].samples >= 0).all()


def test_memory_is_one_window_and_one_block():
    def long_sound():
        for _ in range(500):
            yield np.ones(10_000, np.float32)

    tracemalloc.start()
    try:
        count = sum(1 for _ in windows(long_sound(), 16000, 1.0, 0.1))
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
    assert count == 1 + -(-(5_000_000 - 16_000) // 1600)


@pytest.mark.parametrize(("window", "hop"), [(0, 1), (1, 0), (-1, 1), (1, float("nan")), (1e-9, 1)])
def test_impossible_windows_are_refused(window, hop):
    with pytest.raises(InputError, match="at least one sample"):
        list(windows([np.ones(10, np.float32)], RATE, window, hop))

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.station.sound_memory import SoundMemory


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_a_cut_is_a_slice_whatever_the_blocks(size: int) -> None:
    sound = np.arange(1000, dtype=np.float32)
    memory = SoundMemory(rate=10, span=20.0)
    for start in range(0, len(sound), size):
        memory.add(sound[start : start + size])
    assert memory.seconds == 100.0
    for start, end in [(85.0, 90.0), (80.0, 100.0), (99.95, 120.0), (91.23, 91.31)]:
        wanted = sound[round(start * 10) : round(end * 10)]
        np.testing.assert_array_equal(memory.cut(start, end), wanted)
    # What is forgotten is left out, and no more is held than must be.
    forgotten = memory.cut(0.0, 85.0)
    assert len(forgotten) <= 50 + size
    np.testing.assert_array_equal(memory.cut(0.0, 100.0)[-200:], sound[-200:])


def test_a_memory_of_nothing() -> None:
    memory = SoundMemory(rate=10, span=0.0)
    memory.add(np.ones(100, np.float32))
    assert (memory.seconds, len(memory.cut(0.0, 10.0))) == (10.0, 0)

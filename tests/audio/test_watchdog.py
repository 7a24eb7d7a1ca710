from __future__ import annotations

import numpy as np

from prism_audio.audio.watchdog import StreamState, Watchdog


def test_silence_and_absence_are_told_once_and_so_is_their_end() -> None:
    states: list[StreamState] = []
    now = [0.0]
    watchdog = Watchdog("mic", lambda state, _: states.append(state), 5.0, 30.0, lambda: now[0])
    sound, nothing = np.full(10, 0.1, np.float32), np.zeros(10, np.float32)

    def hear(block: np.ndarray, times: int) -> None:
        for _ in range(times):
            now[0] += 1.0
            watchdog.add(block, 10)
            watchdog.look()

    hear(sound, 3)
    assert states == [StreamState.live]
    hear(nothing, 20)
    assert states[1:] == [StreamState.silent]
    hear(sound, 2)
    assert states[2:] == [StreamState.live]
    now[0] += 31.0
    watchdog.look()
    watchdog.look()
    assert states[3:] == [StreamState.lost]
    hear(sound, 1)
    assert states[4:] == [StreamState.live]

"""A station in a process of its own, and sound that it hears."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS, RATE, tone
from tests.helpers.station import wait_for

MANNER = ("-l", LABELS, "--encoder", "bands", "--prompts", "plain", "--window", 0.5)


class RunningStation:
    """``prism listen --json``, zero-shot, in a process; what it writes goes to files in ``folder``."""

    def __init__(self, prism: Prism, folder: Path, *arguments: object, **environment: str) -> None:
        self._out, self._err = folder / "out.jsonl", folder / "err.txt"
        with self._out.open("ab") as out, self._err.open("ab") as err:
            self.process = subprocess.Popen(
                [*prism.command, "listen", *map(str, (*arguments, *MANNER)), "--json"],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                env={**prism.environment, **environment},
            )

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """Whole lines of one type, of all runs in this folder."""
        texts = self._out.read_text().split("\n")[:-1]
        return [line for line in map(json.loads, texts) if line["type"] == kind]

    @property
    def warnings(self) -> str:
        return self._err.read_text()

    def wait_for_events(self, more: int) -> None:
        """Until so many more events are over."""
        before = len(self.lines("end"))
        wait_for(lambda: len(self.lines("end")) >= before + more)

    def stop(self) -> int:
        """Ask it to end."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert "Traceback" not in self.warnings, self.warnings
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def scene(events: int, first: int = 0) -> np.ndarray:
    """A hum, in which something sounds for two seconds of every eight: tone 2, tone 7, tone 12."""
    times = np.arange(8 * events * RATE) / RATE
    noise = np.random.default_rng(first).standard_normal(len(times))
    sound = 0.1 * np.sin(2 * np.pi * 3625 * times) + 0.02 * noise
    for number in range(events):
        begin, seed = (8 * number + 6) * RATE, first + number
        sound[begin : begin + 2 * RATE] += tone((2, 7, 12)[seed % 3], 2.0, seed)
    return sound


class Feed(threading.Thread):
    """A scene without end as raw samples for a station, faster than real time."""

    def __init__(self, station: RunningStation, pace: float = 20.0) -> None:
        super().__init__(daemon=True)
        self._pipe, self._pace = station.process.stdin, pace
        self._stop_wanted = threading.Event()
        self.start()

    def run(self) -> None:
        number = 0
        try:
            while not self._stop_wanted.is_set():
                for part in np.array_split((scene(1, number) * 2**15).astype("<i2"), 20):
                    self._pipe.write(part.tobytes())
                    self._pipe.flush()
                    time.sleep(len(part) / RATE / self._pace)
                number += 1
            self._pipe.close()
        except (OSError, ValueError):  # the station is gone
            pass

    def end(self) -> None:
        self._stop_wanted.set()
        self.join()

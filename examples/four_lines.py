"""From sound to answers in four lines: calibrate a place, label new recordings, list events.

    python examples/four_lines.py

Stands in for your own recordings with synthesised ones: sounds in front of a hum. The embedded encoder
is fetched once and kept in the cache.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import soundfile

import prism_audio as prism

RATE = 16_000


def recording(path: Path, kind: int, seed: int, seconds: float = 2.0) -> None:
    """White noise, a whistle or clicks, in front of a hum."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    clicks = np.zeros(len(t))
    clicks[:: int(rng.uniform(1500, 4000))] = 0.9
    whistle = 0.3 * np.sin(2 * np.pi * rng.uniform(900, 1500) * t)
    sound = (0.1 * rng.standard_normal(len(t)), whistle, clicks)[kind]
    soundfile.write(path, sound + 0.05 * np.sin(2 * np.pi * 100 * t), RATE)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        street = Path(folder) / "street"
        street.mkdir()
        for i in range(30):
            recording(street / f"{i:02d}.wav", i % 3, i)

        site = prism.calibrate(street, labels=["white noise", "whistle", "clicking"])
        table = prism.classify(street, site)
        for event in prism.listen(street / "00.wav", site):
            print(f"{event.start:.1f} to {event.end:.1f} s: {event.label}")

        print(table)
        print(site)


if __name__ == "__main__":
    main()

"""The walk of one clip: the files of this package that run, in order, from a recording to its answer.

    python benchmarks/walk.py [RECORDING]

The adapter, the encoder and the listener are made before. Then one recording goes through what
``prism classify`` and ``prism listen`` do with it: embed and label, and listen. Printed is each file in
which a function was entered, on any thread, in the order of the first entry.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import soundfile

import prism_audio
from prism_audio.encoders import load_encoder
from prism_audio.labelling.api import sound_blocks
from prism_audio.labelling.batch import embed_batch
from prism_audio.labelling.classify import classify
from prism_audio.labelling.listener import Listener, Pace

ROOT = Path(prism_audio.__file__).parent
RATE = 16_000


def walk(run: Callable[[], None]) -> list[str]:
    """Files below the package in which ``run`` enters a function; importing a file is no entry."""
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_flags & 2:  # 2: a function
            path = Path(code.co_filename)
            if path.is_relative_to(ROOT):
                files.setdefault(path.relative_to(ROOT).as_posix())

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return list(files)


def example(path: Path) -> Path:
    """Two seconds of a whistle."""
    t = np.arange(2 * RATE) / RATE
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 1200 * t), RATE)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", type=Path)
    given = parser.parse_args().recording
    with tempfile.TemporaryDirectory() as folder:
        clip = given or example(Path(folder) / "clip.wav")
        encoder = load_encoder()
        site = prism_audio.calibrate(clip, ["whistle", "siren"], encoder=encoder)

        def classified() -> None:
            classify(embed_batch([clip], encoder), site)

        listener = Listener(encoder, site, Pace.for_adapter(encoder, site))

        def listened() -> None:
            list(listener.hear(sound_blocks(clip, encoder.rate)))

        for name, run in (("classify", classified), ("listen", listened)):
            files = walk(run)
            print(f"{name}: {len(files)} files")
            for file in files:
                print(f"  {file}")


if __name__ == "__main__":
    main()

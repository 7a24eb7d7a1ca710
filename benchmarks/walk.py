"""The walk of one clip: the files of this package that run, in order, from a recording to its answer.

    python benchmarks/walk.py [RECORDING]

The adapter, the encoder, the listener and the service are made before. Then one recording goes through
what ``prism classify``, ``prism listen`` and ``POST /v1/classify`` do with it. Printed is each file in
which a function was entered, on any thread, in the order of the first entry.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
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


class Walk:
    """Files below the package in which a function is entered; importing a file is no entry."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}

    def __enter__(self) -> Walk:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_flags & 2:  # 2: a function
            path = Path(code.co_filename)
            if path.is_relative_to(ROOT):
                self.files.setdefault(path.relative_to(ROOT).as_posix())

    def show(self, name: str) -> None:
        print(f"{name}: {len(self.files)} files")
        for file in self.files:
            print(f"  {file}")


def post(site: Path, clip: Path) -> Walk:
    """The walk of a request; a first one goes before it, so that nothing is made on the way."""
    from starlette.testclient import TestClient

    from prism_audio.serve.app import create_app
    from prism_audio.serve.settings import ServiceSettings

    with Walk() as walk:  # from the start, because only threads that start now are followed
        app = create_app(ServiceSettings(adapters=(site,)))
        with TestClient(app, base_url="http://127.0.0.1:8765") as client:
            for _ in range(2):
                walk.files.clear()
                answer = client.post(
                    "/v1/classify", files={"files": (clip.name, clip.read_bytes())}
                )
            request = Walk()
            request.files.update(walk.files)
    answer.raise_for_status()
    return request


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

        listener = Listener(encoder, site, Pace.for_adapter(encoder, site))
        with Walk() as walk:
            classify(embed_batch([clip], encoder), site)
        walk.show("classify")
        with Walk() as walk:
            list(listener.hear(sound_blocks(clip, encoder.rate)))
        walk.show("listen")
        post(site.save(Path(folder) / "site.safetensors"), clip).show("POST /v1/classify")


if __name__ == "__main__":
    main()

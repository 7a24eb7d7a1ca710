"""The walk of one clip: the files of this package that run, in order, from sound to its answer.

    python benchmarks/walk.py [RECORDING]

Adapter, encoder, listener and service are made first, and each way is gone once before it is watched,
so that what runs once a process does not count. Then one recording goes through

    classify          embed and label, as ``prism classify`` does
    listen            live blocks of raw samples, as a station hears them
    listen (file)     the same from a recording
    POST /v1/classify a request to the service, with a recording that it has not embedded before
    ... (again)       the same recording once more, which comes from the cache

Printed is each file in which a function was entered, on any thread, in the order of the first entry.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import soundfile
from starlette.testclient import TestClient

import prism_audio
from prism_audio.audio.capture import sound_blocks
from prism_audio.encoders import load_encoder
from prism_audio.labelling.batch import embed_batch
from prism_audio.labelling.classify import classify
from prism_audio.labelling.listener import Listener, Pace
from prism_audio.serve.app import create_app
from prism_audio.serve.settings import ServiceSettings

ROOT = Path(prism_audio.__file__).parent
RATE = 16_000


class Watch:
    """The files below the package in which a function was entered; importing a file is no entry.

    It watches every thread that starts after it was made, while it is switched on.
    """

    def __init__(self) -> None:
        self._files: dict[str, None] = {}
        self._on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def walk(self, run: Callable[[], Any]) -> list[str]:
        """Go a way twice, and give the files of the second time."""
        run()
        self._files, self._on = {}, True
        run()
        self._on = False
        return list(self._files)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self._on and event == "call" and code.co_name != "<module>" and code.co_flags & 2:
            path = Path(code.co_filename)  # the flag 2: a function, not the body of a class
            if path.is_relative_to(ROOT):
                self._files.setdefault(path.relative_to(ROOT).as_posix())


def example(path: Path) -> Path:
    """Two seconds of a whistle."""
    t = np.arange(2 * RATE) / RATE
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 1200 * t), RATE)
    return path


class Requests:
    """Requests to the service: each with another recording, or the last one once more."""

    def __init__(self, client: TestClient, samples: np.ndarray, rate: int) -> None:
        self._client, self._samples, self._rate = client, samples, rate
        self._body = b""

    def send_new(self) -> None:
        self._samples = np.roll(self._samples, 1, axis=0)
        file = io.BytesIO()
        soundfile.write(file, self._samples, self._rate, format="WAV")
        self._body = file.getvalue()
        self.send_again()

    def send_again(self) -> None:
        files = {"files": ("clip.wav", self._body)}
        self._client.post("/v1/classify", files=files).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", type=Path)
    recording = parser.parse_args().recording
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        clip = recording or example(Path(folder) / "clip.wav")
        samples, rate = soundfile.read(clip, dtype="int16", always_2d=True)
        pcm = samples[:, 0].tobytes()
        encoder = load_encoder()
        site = prism_audio.calibrate(clip, ["whistle", "siren"], encoder=encoder)
        listener = Listener(encoder, site, Pace.for_adapter(encoder, site))
        adapter = site.save(Path(folder) / "site.safetensors")
        settings = ServiceSettings(
            encoder=encoder, adapters=(adapter,), store=Path(folder) / "sites"
        )
        with TestClient(create_app(settings), base_url="http://localhost") as client:
            requests = Requests(client, samples, rate)
            ways: dict[str, Callable[[], Any]] = {
                "classify": lambda: classify(embed_batch([clip], encoder), site),
                "listen": lambda: list(
                    listener.hear(sound_blocks(io.BytesIO(pcm), encoder.rate, rate=rate))
                ),
                "listen (file)": lambda: list(listener.hear(sound_blocks(clip, encoder.rate))),
                "POST /v1/classify": requests.send_new,
                "POST /v1/classify (again)": requests.send_again,
            }
            for name, run in ways.items():
                files = watch.walk(run)
                print(f"{name}: {len(files)} files", *files, sep="\n  ")


if __name__ == "__main__":
    main()

"""Recordings as bytes, and forms of them."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import soundfile as sf

from tests.helpers.bands import RATE, tone

BANDS = (2, 7, 12)


def wav(samples: np.ndarray, rate: int = RATE, form: str = "WAV", **options: Any) -> bytes:
    """Samples as the bytes of a file."""
    file = io.BytesIO()
    sf.write(file, samples, rate, format=form, **options)
    return file.getvalue()


def clip(band: int, seed: int = 0, seconds: float = 1.2) -> bytes:
    """A recording of one band."""
    return wav(tone(band, seconds, seed))


def clips(each: int, first: int = 0) -> list[tuple[str, bytes]]:
    """Recordings of every class of the usual labels, with names that tell it."""
    return [
        (f"{band:02d}-{seed}.wav", clip(band, 1000 * band + seed))
        for band in BANDS
        for seed in range(first, first + each)
    ]


def form(*recordings: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    """Recordings for the argument ``files`` of a client."""
    return [("files", recording) for recording in recordings]


def finished(client: Any, url: str, patience: float = 60.0) -> dict[str, Any]:
    """A job after its end."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        job: dict[str, Any] = client.get(url).json()
        if job["state"] in ("done", "failed", "cancelled"):
            return job
        time.sleep(0.05)
    raise AssertionError(f"{url} did not end in {patience} s: {job}")


def calibrate(client: Any, site: str, recordings: list[tuple[str, bytes]], **query: str) -> Any:
    """Calibrate a site to the end; gives the job."""
    answer = client.post("/v1/calibrate", params={"site": site, **query}, files=form(*recordings))
    assert answer.status_code == 202, answer.text
    return finished(client, answer.json()["url"])

"""A calibration in a process of its own: ``python -m prism_audio.serve.calibrator FOLDER``.

It is given low priority and one core, so that requests do not feel it, and a fault in it is not one
of the service. The folder holds ``batch.npz`` and ``request.json``; ``adapter.safetensors`` and
``result.json`` are put beside them. Exit code 2 and a line on standard output tell what is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism_audio.errors import PrismError
from prism_audio.labelling.batch import Batch
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary

# Requests go before it, but it is not to starve: a quarter of a core is left to it under full load.
NICE = 5


@dataclass(frozen=True)
class Request:
    """What to calibrate, beside the arrays."""

    place: str
    preset: str
    labels: list[str]
    files: list[str]
    row: str
    encoder: str
    fingerprint: str
    prompts: str
    prompts_fingerprint: str


async def calibrated(
    batch: Batch, words: Vocabulary, *, place: str, preset: str, folder: Path
) -> tuple[Adapter, dict[str, Any]]:
    """The adapter of a batch and what it changed, found by a process that works in ``folder``."""
    request = request_of(batch, words, place, preset)

    def run() -> tuple[Adapter, dict[str, Any]]:
        write(folder, batch, words, request)
        _run(folder)
        return read(folder)

    return await asyncio.to_thread(run)


def _run(folder: Path) -> None:
    """Start the process and wait for its end."""
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    # Not by the event loop: uvloop forks, and OpenBLAS then takes its threads down under whoever
    # computes. A session of its own: Ctrl-C in the terminal is for the service, which waits for this.
    done = subprocess.run(
        (sys.executable, "-m", __name__, str(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, **alone},
        start_new_session=True,
        check=False,
    )
    if done.returncode != 0:
        reason = done.stdout.decode(errors="replace").strip().rpartition("\n")[2]
        raise PrismError(reason or f"the calibration ended with status {done.returncode}")


def request_of(batch: Batch, words: Vocabulary, place: str, preset: str) -> Request:
    """All but the arrays."""
    return Request(
        place,
        preset,
        list(words.labels),
        batch.files,
        batch.row,
        words.encoder,
        words.encoder_fingerprint,
        words.prompts,
        words.prompts_fingerprint,
    )


def write(folder: Path, batch: Batch, words: Vocabulary, request: Request) -> None:
    """Put a request into a folder."""
    np.savez(
        folder / "batch.npz",
        embeddings=batch.embeddings,
        start=batch.start,
        end=batch.end,
        prototypes=words.prototypes,
    )
    (folder / "request.json").write_text(json.dumps(asdict(request)))


def read(folder: Path) -> tuple[Adapter, dict[str, Any]]:
    """What a finished calibration left in a folder."""
    adapter = Adapter.load(folder / "adapter.safetensors")
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return adapter, result


def work(folder: Path) -> None:
    """Calibrate what the folder holds."""
    from prism_audio.labelling.calibration import calibrate_place
    from prism_audio.serve.outcome import outcome

    request = Request(**json.loads((folder / "request.json").read_text()))
    with np.load(folder / "batch.npz", allow_pickle=False) as arrays:
        batch = Batch(
            arrays["embeddings"],
            request.files,
            arrays["start"],
            arrays["end"],
            request.row,
            request.encoder,
            request.fingerprint,
        )
        words = Vocabulary(
            tuple(request.labels),
            arrays["prototypes"],
            request.encoder,
            request.fingerprint,
            request.prompts,
            request.prompts_fingerprint,
        )
    adapter = calibrate_place(batch, words, place=request.place, preset=request.preset)
    adapter.save(folder / "adapter.safetensors")
    (folder / "result.json").write_text(json.dumps(outcome(batch, adapter)))


if __name__ == "__main__":
    os.nice(NICE)
    try:
        work(Path(sys.argv[1]))
    except PrismError as error:
        print(" ".join(str(error).split()))
        sys.exit(2)

"""Run a calibration in a process of its own: ``python -m prism_audio.serve.calibration_process DIR``.

It has low priority and one core, so that requests stay fast, and a crash in it does not end the
service. The folder holds ``batch.npz`` and ``request.json``; the process adds
``adapter.safetensors`` and ``report.json``. On an error it exits with 2 and prints one line.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from prism_audio.errors import PrismError
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.calibration_report import calibration_report
from prism_audio.serve.site_schemas import CalibrationReport

# Under full load of requests this leaves it a quarter of a core.
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
    background: int
    y: list[int] | None


async def run_calibration(
    batch: Batch,
    words: Vocabulary,
    *,
    place: str,
    preset: str,
    folder: Path,
    y: list[int] | None = None,
) -> tuple[Adapter, CalibrationReport]:
    """Calibrate on a batch in a process that works in ``folder``: the adapter and its report.

    ``y`` are the classes that people heard in the rows, -1 where they did not listen.
    """
    request = request_of(batch, words, place, preset, y)

    processes: list[subprocess.Popen[bytes]] = []

    def run() -> tuple[Adapter, CalibrationReport]:
        write(folder, batch, words, request)
        _run_process(folder, processes)
        return read(folder)

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        for process in processes:
            process.kill()
        raise


def _run_process(folder: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    """Start the process, put it into a list, and wait for its end."""
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    # Not by the event loop: uvloop forks, and OpenBLAS then takes its threads down under whoever
    # computes. A session of its own: Ctrl-C in the terminal is for the service, which waits for this.
    process = subprocess.Popen(
        (sys.executable, "-m", __name__, str(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, **alone},
        start_new_session=True,
    )
    processes.append(process)
    output, _ = process.communicate()
    if process.returncode != 0:
        reason = output.decode(errors="replace").strip().rpartition("\n")[2]
        raise PrismError(reason or f"the calibration ended with status {process.returncode}")


def request_of(
    batch: Batch, words: Vocabulary, place: str, preset: str, y: list[int] | None
) -> Request:
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
        words.background,
        y,
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


def read(folder: Path) -> tuple[Adapter, CalibrationReport]:
    """What a finished calibration left in a folder."""
    adapter = Adapter.load(folder / "adapter.safetensors")
    report = CalibrationReport.model_validate_json((folder / "report.json").read_bytes())
    return adapter, report


def work(folder: Path) -> None:
    """Calibrate what the folder holds."""
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
            request.background,
        )
    y = None if request.y is None else np.array(request.y, dtype=np.intp)
    adapter = calibrate_place(batch, words, place=request.place, preset=request.preset, y=y)
    adapter.save(folder / "adapter.safetensors")
    (folder / "report.json").write_text(calibration_report(batch, adapter).model_dump_json())


if __name__ == "__main__":
    os.nice(NICE)
    try:
        work(Path(sys.argv[1]))
    except PrismError as error:
        print(" ".join(str(error).split()))
        sys.exit(2)

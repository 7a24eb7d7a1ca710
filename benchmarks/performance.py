"""Before and after: calibration, load, start-up, many files and file formats, of two checkouts.

    python benchmarks/performance.py --before FOLDER [--items NAME ...] [--rounds 2] [--realtime]

FOLDER is a checkout of the version to compare with (``git worktree add FOLDER COMMIT``); without it only
this one is measured. Every figure comes from processes of its own, those of the two checkouts in turn,
and is the best of all rounds. Prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).parent))

import calibration

HERE = Path(__file__).resolve().parents[1]
RATE = 16_000
FILES, ROWS, PASSES = 2000, 50_000, 12
Figures = dict[str, float]


def calibrations(source: Path, _folder: Path) -> Figures:
    """Milliseconds of ``fit``."""
    return {
        f"calibrate, {preset}, N={size[0]}, d={size[1]}, C={size[2]}, ms": 1e3
        * calibration.in_process(preset, size, 6, source)["best"]
        for size in calibration.SIZES[:2]
        for preset in ("default", "paper")
    }


def large(source: Path, _folder: Path) -> Figures:
    """The same on 20,000 rows of 1024 numbers."""
    size = calibration.SIZES[2]
    run = calibration.in_process("default", size, 2, source)
    return {"calibrate, default, N=20,000, d=1024, C=200, ms": 1e3 * run["best"]}


def load(source: Path, _folder: Path) -> Figures:
    """``fit`` on 400 rows beside four busy processes."""
    run = calibration.under_load(source)
    return {
        "fit of 400 rows, ms": run["quiet"],
        "the same beside four busy processes, ms": run["busy"],
        "processor time beside them over that without": run["busy / quiet, cpu"],
    }


def start(source: Path, folder: Path) -> Figures:
    """``prism classify`` on one file with a saved adapter."""
    clips, adapter = folder / "clips", folder / "site.safetensors"
    words = "rain, siren, dog bark"
    if not adapter.exists():
        write_clips(clips, 12)
        prism(source, "calibrate", clips, "-l", words, "-o", adapter)
    call = ("classify", clips / "000000.wav", "--adapter", adapter)
    times = []
    for _ in range(6):
        began = time.perf_counter()
        prism(source, *call)
        times.append(time.perf_counter() - began)
    return {"prism classify, one file and an adapter, s": min(times)}


def files(source: Path, folder: Path) -> Figures:
    """Small files through the encoder."""
    write_clips(folder / "many", FILES)
    done = in_process(source, "embed", folder / "many")
    return {
        f"{FILES:,} files of 1 s embedded, s": done["files"],
        "the same over the time of the encoder alone": done["files"] / done["encoder"],
    }


def formats(source: Path, folder: Path) -> Figures:
    """Passes over a matrix in chunks."""
    done = in_process(source, "read", folder)
    plain = done.pop("plain.npy")
    return {
        f"{PASSES} passes over {name.partition('.')[2]}, over .npy": seconds / plain
        for name, seconds in done.items()
    }


ITEMS: dict[str, Callable[[Path, Path], Figures]] = {
    item.__name__: item for item in (calibrations, large, load, start, files, formats)
}


def write_clips(folder: Path, count: int) -> None:
    """Noise of one second in each file, unless they are there."""
    folder.mkdir(exist_ok=True)
    minute = 0.05 * np.random.default_rng(0).standard_normal(60 * RATE)
    for number in range(count):
        path = folder / f"{number:06d}.wav"
        if not path.exists():
            soundfile.write(path, np.roll(minute, -number * 997)[:RATE], RATE)


def prism(source: Path, *words: object) -> None:
    command = [sys.executable, "-c", "from prism_audio.cli import main; main()", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    subprocess.run(command, env=environment, check=True, capture_output=True)


def in_process(source: Path, job: str, folder: Path) -> Figures:
    command = [sys.executable, __file__, "--job", job, str(folder)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def embed(folder: Path) -> Figures:
    """Seconds for the files in ``folder``, and for as many windows in the encoder alone."""
    from prism_audio.encoders import load_encoder
    from prism_audio.encoders.embedding.engine import embed_files

    paths = sorted(folder.glob("*.wav"))
    encoder = load_encoder("concepts")
    second = soundfile.read(paths[0], dtype="float32")[0]
    batch = np.tile(second[: round(encoder.window * RATE)], (64, 1))
    encoder.embed_windows(batch)
    began = time.perf_counter()
    for _ in range(len(paths) // 32):  # a file of a second has two windows
        encoder.embed_windows(batch)
    alone = time.perf_counter() - began
    began = time.perf_counter()
    assert sum(1 for _ in embed_files(paths, encoder)) == len(paths)
    return {"encoder": alone, "files": time.perf_counter() - began}


def read(folder: Path) -> Figures:
    """Seconds of all passes, by file."""
    import reading

    E = np.random.default_rng(0).standard_normal((ROWS, reading.D)).astype(np.float32)
    seconds = {}
    for name, write in reading.writers(E).items():
        path = folder / name
        if not path.exists():
            write(path)
        seconds[name] = min(reading.measure(path, PASSES)[1] for _ in range(3))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--items", nargs="*", default=list(ITEMS), choices=list(ITEMS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--realtime", action="store_true", help="see calibration.py")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job, place = options.job
        return print(json.dumps({"embed": embed, "read": read}[job](Path(place))))
    calibration.realtime = options.realtime
    checkouts = {"after": HERE}
    if options.before:
        checkouts = {"before": options.before.resolve(), **checkouts}
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as made:
        for item in options.items:
            for _ in range(options.rounds):
                for name, checkout in checkouts.items():
                    folder = Path(made) / name
                    folder.mkdir(exist_ok=True)
                    for figure, value in ITEMS[item](checkout / "src", folder).items():
                        row = best.setdefault(figure, {})
                        row[name] = min(value, row.get(name, np.inf))
    print(f"| | {' | '.join(checkouts)} |\n|---{'|---' * len(checkouts)}|")
    for figure, row in best.items():
        print(f"| {figure} | {' | '.join(f'{row[name]:.3g}' for name in checkouts)} |")


if __name__ == "__main__":
    main()

"""The study of the method: what ``default`` gains and where it must not lose, in four spaces.

    python benchmarks/study/run.py CLAP CONDITIONS ESC50 --out FOLDER [--draws 5] [--parts floor ...]

CLAP holds the array files esc50_*.npz, CONDITIONS is the folder ``conditions`` of a cache that
``prism bench experiments/esc50.toml`` has filled, ESC50 the folder of the dataset. Two processes with
one BLAS thread each. What is done is kept in FOLDER/results.jsonl: a run that was stopped goes on from
there, and results of changed code are made again. Writes FOLDER/method.md with every number that is
asked for and whether it was reached, and pictures beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from parts import PARTS, Record
from pictures import draw_pictures
from report import report
from spaces import Sounds, load_sounds, some, space

from prism_audio.bench.code_digest import code_digest
from prism_audio.io.atomic import atomic_write

Task = tuple[str, str, int, int]  # part, condition, draw, series
_sounds: Sounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("clap", "conditions", "esc50"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for results and report")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument(
        "--series",
        type=int,
        default=0,
        help="draw other lists and batches than series 0, the published one",
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sounds = load_sounds(given.clap, given.conditions, given.esc50)
    tasks = [
        (part, name, draw, given.series)
        for draw in range(given.draws)
        for part in given.parts
        for name in sounds.files
        if wanted(part, name, draw)
    ]
    records = run(tasks, sounds, given.out / "results.jsonl", given.processes)
    text = report(records)
    print(text)
    with atomic_write(given.out / "method.md") as file:
        file.write(text.encode())
    draw_pictures(records, given.out)


def wanted(part: str, name: str, draw: int) -> bool:
    """Whether a part draws from a condition: the long ones from some, rivals and biases in three."""
    if part == "transductive":
        return draw == 0 and space(name) == "concepts"
    if part == "whole":
        return draw < 3 and (space(name) != "concepts" or some(name))
    return some(name) and (part != "bias" or draw < 3)


def run(tasks: list[Task], sounds: Sounds, log: Path, processes: int) -> list[Record]:
    """The records of all tasks: those that the log holds, and the rest made now and added to it."""
    code = _code()
    done = _read(log, code)
    waiting = [task for task in tasks if task not in done]
    began = time.perf_counter()
    # Fresh processes read this before they load a BLAS: the cores are shared out by process.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (
        ProcessPoolExecutor(processes, get_context("spawn"), _start, (sounds,)) as pool,
        log.open("a", encoding="utf-8") as file,
    ):
        made = {pool.submit(_work, task): task for task in waiting}
        for count, future in enumerate(as_completed(made), start=1):
            task = made[future]
            done[task] = future.result()
            # A line of its own, even after one that was cut short.
            file.write("\n" + json.dumps({"code": code, "task": task, "rows": done[task]}))
            file.flush()
            if count % 25 == 0 or count == len(waiting):
                passed = (time.perf_counter() - began) / 60
                print(f"{count} of {len(waiting)} tasks, {passed:.1f} min", file=sys.stderr)
    return [
        {"part": task[0], "condition": task[1], "seed": task[2], **row}
        for task in tasks
        for row in done[task]
    ]


def _code() -> str:
    """Hash of the code that the results come from."""
    here = Path(__file__).parent
    state = hashlib.sha256(code_digest("prism_audio.model.estimator").encode())
    for name in ("parts.py", "figures.py", "spaces.py"):
        state.update((here / name).read_bytes())
    return state.hexdigest()[:16]


def _read(log: Path, code: str) -> dict[Task, list[Record]]:
    """What the log holds of this code; a last line that was cut short is left out."""
    done: dict[Task, list[Record]] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        try:
            entry: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError:
            continue
        if entry["code"] == code:
            part, name, draw, series = entry["task"]
            done[part, name, draw, series] = entry["rows"]
    return done


def _start(sounds: Sounds) -> None:
    global _sounds
    _sounds = sounds


def _work(task: Task) -> list[Record]:
    part, name, draw, series = task
    # Every condition draws lists of its own: the mean of a space is then one of many lists.
    rng = np.random.default_rng([draw, list(PARTS).index(part), zlib.crc32(name.encode()), series])
    return list(PARTS[part](_sounds, name, rng))


if __name__ == "__main__":
    main()

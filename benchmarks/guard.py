"""Whether adaptation ever makes things worse: the preset ``default`` where PRISM is known to fail.

    python benchmarks/guard.py CONDITIONS ESC50 --out FOLDER [--seeds 5] [--studies sizes few ...]

CONDITIONS is the folder ``conditions`` of a cache that ``prism bench`` has filled, ESC50 the folder of
the dataset. Two processes with one BLAS thread each; about half an hour for 41 conditions and
five seeds. What is done is kept in FOLDER/results.jsonl: a run that was stopped goes on from there,
and results of changed code are made again. Prints Markdown tables and writes FOLDER/guard.json and
FOLDER/guard.md; ``benchmarks/guard_pictures.py`` draws from the former.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import guard_studies
import numpy as np
from guard_data import Sounds, load_sounds, some_level
from guard_tables import tables

from prism_audio.bench.code_digest import code_digest
from prism_audio.io.atomic import atomic_write

Study = Callable[[Sounds, str, np.random.Generator], Iterator[guard_studies.Row]]
STUDIES: dict[str, Study] = {
    "sizes": guard_studies.sizes,
    "transductive": guard_studies.transductive,
    "spaces": guard_studies.other_spaces,
    "few": guard_studies.few,
    "streams": guard_studies.streams,
    "foreign": guard_studies.foreign,
    "lists": guard_studies.lists,
    "honesty": guard_studies.honesty,
}
# The other studies are made at four of the eight levels of every background, for the time they take.
EVERY_LEVEL = ("sizes", "transductive", "spaces")
Task = tuple[str, str, int]
_sounds: Sounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("conditions", type=Path)
    parser.add_argument("esc50", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for results and tables")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sounds = load_sounds(given.conditions, given.esc50)
    tasks = [
        (study, condition, seed)
        for seed in range(given.seeds)
        for study in given.studies
        for condition in sounds.files
        if (study != "spaces" or seed == 0) and (study in EVERY_LEVEL or some_level(condition))
    ]
    records = run(tasks, sounds, given.out / "results.jsonl", given.processes)
    report = tables(records)
    print(report)
    for name, text in (("guard.md", report), ("guard.json", json.dumps(records))):
        with atomic_write(given.out / name) as file:
            file.write(text.encode())


def run(tasks: list[Task], sounds: Sounds, log: Path, processes: int) -> list[dict[str, Any]]:
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
        {"study": study, "condition": condition, "seed": seed, **row}
        for study, condition, seed in tasks
        for row in done[study, condition, seed]
    ]


def _code() -> str:
    """Hash of the code that the results come from."""
    studies = Path(guard_studies.__file__).read_bytes()
    return hashlib.sha256(
        code_digest("prism_audio.model.estimator").encode() + studies
    ).hexdigest()[:16]


def _read(log: Path, code: str) -> dict[Task, list[dict[str, Any]]]:
    """What the log holds of this code; a last line that was cut short is left out."""
    done: dict[Task, list[dict[str, Any]]] = {}
    if log.exists():
        for line in log.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            if entry["code"] == code:
                study, condition, seed = entry["task"]
                done[study, condition, seed] = entry["rows"]
    return done


def _start(sounds: Sounds) -> None:
    global _sounds
    _sounds = sounds


def _work(task: Task) -> list[dict[str, Any]]:
    study, condition, seed = task
    rng = np.random.default_rng([seed, list(STUDIES).index(study)])
    return [
        {"cell": cell, "method": method, **figures}
        for cell, method, figures in STUDIES[study](_sounds, condition, rng)
    ]


if __name__ == "__main__":
    main()

"""How fast the core is, as ratios measured in one run.

    python benchmarks/calibration.py [--script FOLDER --entry MODULE:FUNCTION] [--json FILE] [--quick]

* calibration by the presets ``paper`` and ``default`` against a checkout of the authors' script, or
  against a plain NumPy transcription of that script: every way in processes of its own, in turn;
* ``default`` on one core; ``fit`` on 400 rows on the quiet machine and beside four busy processes;
* labels by the folded head against plain zero-shot, and one clip against the full map;
* what the guard of ``default`` costs: with it, over without;
* peak memory of a calibration; how calibration time grows with N, d and C.

FOLDER is put on Python's path. MODULE (a file in it, ``prism`` by default) must have FUNCTION
(``calibrate`` by default), which takes float32 tensors of PyTorch, the unit rows E (N, d) and prototypes
T (C, d), as its first two arguments; what it returns is not looked at. Where the script has another
interface, put a file with such a function beside it.

``--realtime`` gives our own calibrations real-time priority while they are timed, which takes the rights
of root: on a machine with other work the figures are then those of a quiet one. Not for the script,
whose threads keep the priority they were started with.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from prism_audio.model.estimator import PRISM
from tests.helpers.problems import unit
from tests.helpers.released_spec import released

Timed = dict[str, Callable[[], object]]
SIZES = ((2000, 512, 50), (8732, 512, 10), (20_000, 1024, 200))
BUSY = "while True: pass"
# Whether timed calibrations have real-time priority.
realtime = False


def rows(N: int, d: int, C: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32 embeddings with classes, a common shift and a noisy subspace."""
    rng = np.random.default_rng(seed)
    T = unit(rng.standard_normal((C, d)) + rng.standard_normal(d))
    basis = rng.standard_normal((40, d)) / np.sqrt(d)
    E = T[np.arange(N) % C] + 0.4 * basis[0]
    E += 0.15 * rng.standard_normal((N, 40)) @ basis
    E += 0.3 * rng.standard_normal((N, d)) / np.sqrt(d)
    return unit(E).astype(np.float32), T.astype(np.float32)


def best_times(calls: Timed, seconds: float) -> dict[str, float]:
    """Best time of each call in milliseconds, repeated in turn for about ``seconds``."""
    best = dict.fromkeys(calls, np.inf)
    end = time.perf_counter() + seconds
    turns = 0
    while turns < 3 or time.perf_counter() < end:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
        turns += 1
    return {name: 1e3 * value for name, value in best.items()}


def script_call(place: str, E: np.ndarray, T: np.ndarray) -> Callable[[], object]:
    """A call of the script; ``place`` is FOLDER:MODULE:FUNCTION."""
    import torch

    folder, module, function = place.rsplit(":", 2)
    sys.path.insert(0, folder)
    found = getattr(importlib.import_module(module), function)
    tensors = torch.from_numpy(E), torch.from_numpy(T)
    return lambda: found(*tensors)


def work(way: str, size: tuple[int, int, int], repeats: int) -> dict[str, float]:
    """Best and median seconds, and median processor seconds, of one way in this process."""
    E, T = rows(*size)
    if way.startswith("script="):
        call = script_call(way.removeprefix("script="), E, T)
    elif way == "transcription":
        call = lambda: released(E, T)  # noqa: E731
    else:
        preset, _, cores = way.partition(" on ")
        if cores:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        call = lambda: PRISM(preset).fit(E, prototypes=T)  # noqa: E731
    call()
    if realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    wall, cpu = [], []
    for _ in range(repeats):
        began, spent = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - spent)
    return {
        "best": min(wall),
        "median": float(np.median(wall)),
        "cpu": float(np.median(cpu)),
    }


def in_process(
    way: str, size: tuple[int, int, int], repeats: int, source: Path | None = None
) -> dict[str, float]:
    """The same in a process of its own, with the package in ``source`` if given."""
    words = ["--work", way, *map(str, size), str(repeats), *["--realtime"] * realtime]
    environment = os.environ | ({"PYTHONPATH": str(source)} if source else {})
    done = subprocess.run(
        [sys.executable, __file__, *words], env=environment, check=True, capture_output=True
    )
    return json.loads(done.stdout)


def speed(ways: list[str], size: tuple[int, int, int], rounds: int) -> dict[str, float]:
    """Milliseconds of every way, the best and the median of all rounds; ratios to the first way."""
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    repeats = 3 if size[0] > 10_000 else 6
    for _ in range(rounds):
        for way in ways:
            runs[way].append(in_process(way, size, repeats))
    figures = {}
    for way, results in runs.items():
        best = min(run["best"] for run in results)
        median = float(np.median([run["median"] for run in results]))
        name = way.partition("=")[0]
        figures |= {f"{name}, best": 1e3 * best, f"{name}, median": 1e3 * median}
        figures[f"{name}, cpu"] = 1e3 * float(np.median([run["cpu"] for run in results]))
    first = ways[0].partition("=")[0]
    for way in ways[1:]:
        figures[f"{first} / {way}"] = figures[f"{first}, median"] / figures[f"{way}, median"]
    return figures


def under_load(source: Path | None = None, repeats: int = 12) -> dict[str, float]:
    """``fit`` on 400 rows, quiet and beside four processes that never rest."""
    size = (400, 512, 10)
    quiet = in_process("default", size, repeats, source)
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(4)]
    try:
        busy = in_process("default", size, repeats, source)
    finally:
        for other in others:
            other.kill()
            other.wait()
    return {
        "quiet": 1e3 * quiet["median"],
        "quiet, cpu": 1e3 * quiet["cpu"],
        "busy": 1e3 * busy["median"],
        "busy, cpu": 1e3 * busy["cpu"],
        "busy / quiet": busy["median"] / quiet["median"],
        "busy / quiet, cpu": busy["cpu"] / quiet["cpu"],
    }


def inference(N: int, d: int, C: int, seconds: float) -> dict[str, float]:
    E, T = rows(N, d, C)
    adapter = PRISM("paper").fit(E[:4000], prototypes=T).adapter_
    A, b = adapter.fold()
    W, e = adapter.W, E[0].copy()
    one = np.ones(1, dtype=np.float32)

    def full_map() -> int:
        x = np.concatenate([e, one]) @ W
        return int(np.argmax((x / np.linalg.norm(x)) @ T.T))

    batch = best_times(
        {
            "zero-shot, batch": lambda: np.argmax(E @ T.T, axis=1),
            "folded head, batch": lambda: np.argmax(E @ A + b, axis=1),
            "Adapter.predict, batch": lambda: adapter.predict(E),
        },
        seconds,
    )
    single = best_times(
        {
            "full map, one clip": lambda: [full_map() for _ in range(1000)],
            "predict_one, one clip": lambda: [adapter.predict_one(e) for _ in range(1000)],
        },
        seconds,
    )
    out = batch | {name: value / 1000 for name, value in single.items()}
    out["folded head / zero-shot"] = out["folded head, batch"] / out["zero-shot, batch"]
    out["predict / zero-shot"] = out["Adapter.predict, batch"] / out["zero-shot, batch"]
    out["full map / predict_one"] = out["full map, one clip"] / out["predict_one, one clip"]
    return out


def guard(N: int, d: int, C: int, seconds: float) -> dict[str, float]:
    E, T = rows(N, d, C)
    times = best_times(
        {
            "default": lambda: PRISM().fit(E, prototypes=T),
            "without the guard": lambda: PRISM(guard=False).fit(E, prototypes=T),
        },
        seconds,
    )
    times["guarded / plain"] = times["default"] / times["without the guard"]
    return times


def memory(N: int, d: int, C: int) -> dict[str, float]:
    """Peak of what a calibration allocates beside its input, in units of the input."""
    E, T = rows(N, d, C)
    PRISM("paper").fit(E[:500], prototypes=T)
    tracemalloc.start()
    PRISM("paper").fit(E, prototypes=T)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"peak / input": peak / E.nbytes}


def growth(seconds: float) -> dict[str, list[tuple[int, float]]]:
    """Calibration time in ms against N (d=512, C=10), d (N=8732, C=10) and C (N=8732, d=512)."""

    def once(N: int, d: int, C: int) -> float:
        E, T = rows(N, d, C)
        return best_times({"fit": lambda: PRISM("paper").fit(E, prototypes=T)}, seconds)["fit"]

    return {
        "N": [(n, once(n, 512, 10)) for n in (1000, 3000, 10_000, 30_000, 100_000)],
        "d": [(d, once(8732, d, 10)) for d in (128, 256, 512, 1024)],
        "C": [(c, once(8732, 512, c)) for c in (2, 10, 50, 200, 500)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--script", type=Path, help="a checkout of the authors' script")
    parser.add_argument("--entry", default="prism:calibrate", help="MODULE:FUNCTION in it")
    parser.add_argument("--sizes", nargs="*", help="only these, each as N,d,C")
    parser.add_argument("--rounds", type=int, default=2, help="processes of every way")
    parser.add_argument("--speed-only", action="store_true", help="only the first comparison")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--realtime", action="store_true", help="time with real-time priority")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    global realtime
    realtime = options.realtime
    if options.work:
        way, *numbers = options.work
        N, d, C, repeats = map(int, numbers)
        return print(json.dumps(work(way, (N, d, C), repeats)))
    script = f"script={options.script.resolve()}:{options.entry}" if options.script else ""
    ways = [script or "transcription", "paper", "default", "default on one core"]
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes or []] or SIZES
    figures = {f"N={N} d={d} C={C}": speed(ways, (N, d, C), options.rounds) for N, d, C in sizes}
    if not options.speed_only:
        figures |= others(2.0 if options.quick else 20.0)
    for title, values in figures.items():
        print(f"\n{title}")
        for name, value in values.items():
            unit_name = "x" if "/" in name else "ms"
            print(f"  {name:<32} {value:10.4g} {unit_name}")
    grown = {} if options.speed_only else growth(2.0 if not options.quick else 0.2)
    for name, points in grown.items():
        exponent = np.polyfit(*np.log(np.array(points)).T, 1)[0]
        print(f"\ngrowth with {name} (exponent {exponent:.2f})")
        for value, ms in points:
            print(f"  {name} = {value:<8} {ms:10.1f} ms")
    if options.json:
        options.json.write_text(json.dumps(figures | {"growth": grown}, indent=2))


def others(seconds: float) -> dict[str, dict[str, float]]:
    """All figures but those of the first comparison and of the growth."""
    return {
        "fit of 400 rows, beside four busy processes": under_load(),
        "inference, 100,000 rows, d=512, C=10": inference(100_000, 512, 10, seconds / 2),
        **{f"guard, N={N} d=512 C=50": guard(N, 512, 50, seconds / 4) for N in (100, 500, 2000)},
        "memory, N=8732": memory(8732, 512, 10),
        "memory, N=100,000": memory(100_000, 512, 10),
    }


if __name__ == "__main__":
    main()

"""How fast the core is, as ratios measured in one run.

    python benchmarks/calibration.py [--json FILE] [--quick]

* the preset ``paper`` against a plain NumPy transcription of the released script, and against the work
  that no implementation avoids: with NumPy's products beside SciPy's factorisations, as one would write
  it, and with both from SciPy's BLAS, where no two pools of threads fight over the cores;
* labels by the folded head against plain zero-shot, and one clip against the full map;
* what the guard of ``default`` costs: with it, over without;
* peak memory of a calibration;
* how calibration time grows with N, d and C.

Every figure is the best of interleaved repetitions, so that a busy machine hurts all rows alike.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import linalg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from prism_audio.geometry.products import product
from prism_audio.model.estimator import PRISM
from tests.helpers.problems import unit
from tests.helpers.released_spec import released

Timed = dict[str, Callable[[], object]]
Product = Callable[[np.ndarray, np.ndarray], np.ndarray]


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


def unavoidable(
    E: np.ndarray, times: Product, rounds: int = 3, K: int = 60, q: float = 0.7
) -> None:
    """The products and factorisations that Algorithm 1 consists of, and nothing else."""
    N, d = E.shape
    W = np.eye(d, dtype=E.dtype)
    kept = E[: int(q * N)]
    gram = times(E.T, E)
    linalg.cholesky(gram.astype(np.float64) + 0.01 * np.eye(d), check_finite=False)
    for _ in range(rounds):
        out = times(E, W)
        times(E.T, out)
        scatter = times(kept.T, kept)
        linalg.eigh(scatter, subset_by_index=(d - K, d - 1), check_finite=False)


def speed(N: int, d: int, C: int, seconds: float) -> dict[str, float]:
    E, T = rows(N, d, C)
    times = best_times(
        {
            "paper": lambda: PRISM("paper").fit(E, prototypes=T),
            "released script": lambda: released(E, T),
            "unavoidable, NumPy": lambda: unavoidable(E, np.matmul),
            "unavoidable, one pool": lambda: unavoidable(E, product),
        },
        seconds,
    )
    times["released / paper"] = times["released script"] / times["paper"]
    for pool in ("NumPy", "one pool"):
        times[f"paper / {pool}"] = times["paper"] / times[f"unavoidable, {pool}"]
    return times


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
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    options = parser.parse_args()
    seconds = 2.0 if options.quick else 20.0
    figures = {
        "N=8732 d=512 C=10": speed(8732, 512, 10, seconds),
        "N=2000 d=512 C=50": speed(2000, 512, 50, seconds),
        "inference, 100,000 rows, d=512, C=10": inference(100_000, 512, 10, seconds / 2),
        **{f"guard, N={N} d=512 C=50": guard(N, 512, 50, seconds / 4) for N in (100, 500, 2000)},
        "memory, N=8732": memory(8732, 512, 10),
        "memory, N=100,000": memory(100_000, 512, 10),
    }
    for title, values in figures.items():
        print(f"\n{title}")
        for name, value in values.items():
            unit_name = "x" if "/" in name else "ms"
            print(f"  {name:<26} {value:10.4g} {unit_name}")
    grown = growth(seconds / 10)
    for name, points in grown.items():
        exponent = np.polyfit(*np.log(np.array(points)).T, 1)[0]
        print(f"\ngrowth with {name} (exponent {exponent:.2f})")
        for value, ms in points:
            print(f"  {name} = {value:<8} {ms:10.1f} ms")
    if options.json:
        options.json.write_text(json.dumps(figures | {"growth": grown}, indent=2))


if __name__ == "__main__":
    main()

"""How calibration out of core behaves: memory, time a row, and how time grows with N.

    python benchmarks/scale.py FOLDER [--rows 2000000] [--json FILE]

FOLDER takes the file of rows (2,000,000 x 512 float32 are 4 GB), which stays there for the next run.
Every calibration runs in a process of its own, whose largest resident memory Linux tells: from
the file in chunks, for the rate to compare with from 100,000 rows in memory, and from 300,000 rows on a
Ray cluster of one worker and of two (the figures are then those of the process that leads). Processor
time is shown beside wall time because it depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

D, C = 512, 10
MEMORY_ROWS, RAY_ROWS = 100_000, 300_000
WHERE = {
    "memory": "memory",
    "chunks": "disk, in chunks",
    "ray1": "Ray, 1 worker",
    "ray2": "Ray, 2 workers",
}
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)


def make_rows(path: Path, N: int) -> None:
    """Rows with classes, a common shift and a noisy subspace, written in chunks."""
    rng = np.random.default_rng(0)
    T = rng.standard_normal((C, D)) + rng.standard_normal(D)
    T /= np.linalg.norm(T, axis=1, keepdims=True)
    basis = rng.standard_normal((40, D)) / np.sqrt(D)
    partial = path.with_suffix(".partial.npy")
    out = np.lib.format.open_memmap(partial, "w+", np.float32, (N, D))
    for start in range(0, N, 50_000):
        n = min(50_000, N - start)
        E = T[rng.integers(C, size=n)] + 0.4 * basis[0]
        E += 0.15 * rng.standard_normal((n, 40)) @ basis
        E += 0.3 * rng.standard_normal((n, D)) / np.sqrt(D)
        out[start : start + n] = E / np.linalg.norm(E, axis=1, keepdims=True)
        print(f"\rwriting rows: {100 * (start + n) // N} %", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    out.flush()
    del out
    np.save(path.with_suffix(".prototypes.npy"), T.astype(np.float32))
    partial.rename(path)


def calibrate(path: Path, N: int, how: str, preset: str) -> dict[str, float]:
    """One calibration on the first ``N`` rows, in this process; ``how`` is a key of :data:`WHERE`."""
    from prism_audio import PRISM
    from prism_audio.io.matrices import FlatRows, RowTable, open_matrix
    from prism_audio.out_of_core.chunks import Chunks, open_chunks
    from prism_audio.out_of_core.cluster import start_private
    from prism_audio.out_of_core.ray_chunks import RayChunks, open_ray_chunks

    T = np.load(path.with_suffix(".prototypes.npy"))
    (whole,) = open_matrix(path).parts
    assert isinstance(whole, FlatRows)
    table = RowTable([FlatRows(whole.path, whole.dtype, whole.offset, (N, D))], str(path))
    passes = [count_passes(kind) for kind in (Chunks, RayChunks)]
    if how.startswith("ray"):
        start_private(num_cpus=int(how[3:]))
    rows = table.read(0, N) if how == "memory" else None
    began, spent = time.perf_counter(), time.process_time()
    if rows is None:
        rows = open_chunks(table) if how == "chunks" else open_ray_chunks(table)
    PRISM(preset).fit(rows, prototypes=T)
    took, cpu = time.perf_counter() - began, time.process_time() - spent
    # Not what getrusage says, which begins with the memory of the process that started this one.
    status = Path("/proc/self/status").read_text()
    peak = 1024 * int(status.partition("VmHWM:")[2].split()[0])
    figures = {"rows": N, "seconds": took, "cpu": cpu, "us_per_row": 1e6 * took / N}
    return figures | {"peak_gb": peak / 1e9, "passes": sum(map(len, passes))}


def count_passes(kind: type) -> list[None]:
    """A list that grows by one with every pass over sources of a kind."""
    passes: list[None] = []
    scan = kind.scan

    def counted(self: Any, *given: Any) -> Any:
        passes.append(None)
        return scan(self, *given)

    kind.scan = counted
    return passes


def measured(path: Path, N: int, how: str, preset: str) -> dict[str, float]:
    """The same in a process of its own."""
    call = [sys.executable, __file__, str(path), "--one", str(N), how, preset]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the file of rows is, or is to be")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows in all")
    parser.add_argument("--preset", default="paper", help="paper or default")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        N, how, preset = options.one
        print(json.dumps(calibrate(options.folder, int(N), how, preset)))
        return
    path = options.folder / f"rows-{options.rows}.npy"
    if not path.exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        make_rows(path, options.rows)
    sizes = sorted({min(N, options.rows) for N in GROWTH})
    print(f"preset {options.preset}, d = {D}, C = {C}\n")
    print("| rows | where | seconds | of processor time | us a row | peak memory, GB | passes |")
    print("|---|---|---|---|---|---|---|")

    def shown(N: int, how: str) -> dict[str, float]:
        run = measured(path, min(N, options.rows), how, options.preset)
        print(
            f"| {run['rows']:,} | {WHERE[how]} | {run['seconds']:.2f} | {run['cpu']:.2f} "
            f"| {run['us_per_row']:.1f} | {run['peak_gb']:.2f} | {run['passes'] or ''} |",
            flush=True,
        )
        return run

    memory = shown(MEMORY_ROWS, "memory")
    ray = [shown(RAY_ROWS, how) for how in ("ray1", "ray2")]
    chunked = [shown(N, "chunks") for N in sizes]
    seconds = np.array([run["seconds"] for run in chunked])
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    ratio = chunked[-1]["us_per_row"] / memory["us_per_row"]
    print(f"\ntime grows with N to the power {exponent:.2f}")
    print(
        f"a row of the largest takes {ratio:.2f} times as long as one of {MEMORY_ROWS:,} in memory"
    )
    if options.json:
        figures = {"memory": memory, "chunks": chunked, "ray": ray}
        figures |= {"exponent": exponent, "ratio": ratio}
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

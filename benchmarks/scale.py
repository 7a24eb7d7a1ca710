"""How calibration out of core behaves: memory, time a row, and how time grows with N.

    python benchmarks/scale.py FOLDER [--rows 2000000] [--json FILE]

FOLDER takes the file of rows (2,000,000 x 512 float32 are 4 GB), which stays there for the next run.
Every calibration runs in a process of its own, whose largest resident memory the system tells: from
the file in chunks, and for the rate to compare with from 100,000 rows in memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

D, C = 512, 10
MEMORY_ROWS = 100_000
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
    """One calibration on the first ``N`` rows, in this process."""
    from prism_audio import PRISM
    from prism_audio.io.matrices import FlatRows, RowTable, open_matrix
    from prism_audio.out_of_core.chunks import open_chunks

    T = np.load(path.with_suffix(".prototypes.npy"))
    (whole,) = open_matrix(path).parts
    assert isinstance(whole, FlatRows)
    table = RowTable([FlatRows(whole.path, whole.dtype, whole.offset, (N, D))], str(path))
    E = table.read(0, N) if how == "memory" else None
    began = time.perf_counter()
    PRISM(preset).fit(open_chunks(table) if E is None else E, prototypes=T)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"rows": N, "seconds": took, "us_per_row": 1e6 * took / N, "peak_gb": peak / 1e9}


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
    memory = measured(path, min(MEMORY_ROWS, options.rows), "memory", options.preset)
    chunked = [measured(path, N, "chunks", options.preset) for N in sizes]
    again = measured(path, min(MEMORY_ROWS, options.rows), "memory", options.preset)
    memory = min(memory, again, key=lambda run: run["seconds"])
    print(f"preset {options.preset}, d = {D}, C = {C}\n")
    print("| rows | where | seconds | us a row | peak memory, GB |\n|---|---|---|---|---|")
    for where, run in [("memory", memory), *(("disk, in chunks", run) for run in chunked)]:
        print(
            f"| {run['rows']:,} | {where} | {run['seconds']:.2f} | {run['us_per_row']:.1f} "
            f"| {run['peak_gb']:.2f} |"
        )
    seconds = np.array([run["seconds"] for run in chunked])
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    ratio = chunked[-1]["us_per_row"] / memory["us_per_row"]
    print(f"\ntime grows with N to the power {exponent:.2f}")
    print(
        f"a row of the largest takes {ratio:.2f} times as long as one of {MEMORY_ROWS:,} in memory"
    )
    if options.json:
        figures = {"memory": memory, "chunks": chunked, "exponent": exponent, "ratio": ratio}
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

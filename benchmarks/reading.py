"""How long it takes to read a matrix in chunks, by file format: the first pass and every later one.

    python benchmarks/reading.py FOLDER [--rows 100000] [--passes 12] [--json FILE]

FOLDER takes the files (100,000 x 512 float32 are 205 MB each), which stay there for the next run. The
first pass includes opening the file and, for Parquet, decoding it. A calibration makes a dozen passes:
``total`` is all of them, ``ratio`` compares a later pass with one over ``.npy``, and ``calibration`` is
a whole one by ``default`` with 10 classes. Times are the best of ``--repeat``, with the files in the
system's cache.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet
from safetensors.numpy import save_file

from prism_audio import PRISM
from prism_audio.io.matrices import flat_copy
from prism_audio.out_of_core.chunks import CHUNK_ROWS, open_chunks
from prism_audio.store.rows import open_table

D = 512


def write_parquet(path: Path, column: pyarrow.Array) -> None:
    parquet.write_table(pyarrow.table({"embeddings": column}), path)


def writers(E: np.ndarray) -> dict[str, Callable[[Path], None]]:
    """A name for each file, and what writes it as other programs do."""
    flat, N = pyarrow.array(E.ravel()), len(E)
    fixed = pyarrow.FixedSizeListArray.from_arrays(flat, D)
    offsets = pyarrow.array(np.arange(0, N * D + 1, D, dtype=np.int32))
    lists = pyarrow.ListArray.from_arrays(offsets, flat)
    columns = {f"d{i}": E[:, i] for i in range(D)}
    return {
        "plain.npy": lambda path: np.save(path, E),
        # One number before the matrix, so that it lies at an odd place.
        "odd.safetensors": lambda path: save_file({"embeddings": E, "a": np.ones(1)}, path),
        "fixed.parquet": lambda path: write_parquet(path, fixed),
        "lists.parquet": lambda path: write_parquet(path, lists),
        "columns.parquet": lambda path: parquet.write_table(pyarrow.table(columns), path),
    }


def measure(path: Path, passes: int) -> tuple[float, float]:
    """Seconds of the first pass, and of all passes together."""
    began = time.perf_counter()
    table = flat_copy(open_table(path))
    for number in range(passes):
        for start in range(0, table.shape[0], CHUNK_ROWS):
            table.read(start, min(start + CHUNK_ROWS, table.shape[0]))
        if number == 0:
            first = time.perf_counter() - began
    return first, time.perf_counter() - began


def calibration(path: Path) -> float:
    """Seconds of a calibration on the rows of a file, with opening and decoding it."""
    T = np.random.default_rng(1).standard_normal((10, D)).astype(np.float32)
    began = time.perf_counter()
    PRISM().fit(open_chunks(open_table(path)), prototypes=T)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the files are, or are to be")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--passes", type=int, default=12)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    E = np.random.default_rng(0).standard_normal((options.rows, D)).astype(np.float32)
    figures: dict[str, dict[str, float]] = {}
    for name, write in writers(E).items():
        path = options.folder / f"{options.rows}-{name}"
        if not path.exists():
            write(path)
        runs = [measure(path, options.passes) for _ in range(options.repeat)]
        first, total = min(first for first, _ in runs), min(total for _, total in runs)
        later = min((total - first) / max(options.passes - 1, 1) for first, total in runs)
        whole = min(calibration(path) for _ in range(options.repeat))
        figures[name] = {"first": first, "later": later, "total": total, "calibration": whole}
    print("| file | first pass, s | later pass, s | ratio | total, s | calibration, s |")
    print("|---|---|---|---|---|---|")
    for name, run in figures.items():
        ratio = run["later"] / figures["plain.npy"]["later"]
        print(
            f"| {name} | {run['first']:.3f} | {run['later']:.3f} | {ratio:.2f} | {run['total']:.2f} "
            f"| {run['calibration']:.2f} |"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

"""Calibrate with wide embeddings: seconds and memory.

python benchmarks/wide.py [WIDTH] [--clips 3000] [--classes 50] [--preset default]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from prism_audio import PRISM


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("width", type=int, nargs="?", default=4096)
    parser.add_argument("--clips", type=int, default=3000)
    parser.add_argument("--classes", type=int, default=50)
    parser.add_argument("--preset", default="default")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    T = rng.standard_normal((asked.classes, asked.width)).astype(np.float32)
    E = T[np.arange(asked.clips) % asked.classes] + 3 * rng.standard_normal(asked.width)
    E = (E + 1.5 * rng.standard_normal(E.shape)).astype(np.float32)
    began, cpu = time.perf_counter(), time.process_time()
    model = PRISM(asked.preset).fit(E, prototypes=T)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"d = {asked.width}, N = {asked.clips}, C = {asked.classes}, {asked.preset}: "
        f"{time.perf_counter() - began:.1f} s ({time.process_time() - cpu:.1f} s of CPU), "
        f"{megabytes:.0f} MB, verdict {model.verdict_}"
    )


if __name__ == "__main__":
    main()

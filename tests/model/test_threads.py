"""The map does not depend on how many threads the linear algebra runs on."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.helpers.problems import problem

CALIBRATE = """
import sys
import numpy as np
from prism_audio import PRISM
E, T = np.load(sys.argv[1]), np.load(sys.argv[2])
np.save(sys.argv[3], PRISM(sys.argv[4]).fit(E, prototypes=T).adapter_.W)
"""


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_map_is_the_same_with_one_thread_and_with_two(tmp_path, preset):
    E, T, _ = problem(3000, 256, 20, noise=1.0, dtype=np.float32)
    files = [tmp_path / "E.npy", tmp_path / "T.npy", tmp_path / "W.npy"]
    np.save(files[0], E)
    np.save(files[1], T)
    maps = []
    for threads in ("1", "2"):
        count = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        call = [sys.executable, "-c", CALIBRATE, *map(str, files), preset]
        subprocess.run(call, env={**os.environ, **count}, check=True)
        maps.append(np.load(files[2]))
    assert np.abs(maps[0] - maps[1]).max() <= 1e-5
    assert np.abs(maps[0][:-1] - np.eye(256)).max() > 0.01, "the map corrects something"

"""The passes of a calibration on a real Ray cluster of two processes."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from prism_audio import PRISM, PrismError
from prism_audio.out_of_core.chunks import open_chunks
from prism_audio.out_of_core.cluster import import_ray, start_private
from prism_audio.store.rows import open_table
from tests.helpers.clusters import workers_at
from tests.helpers.problems import problem

try:
    ray = import_ray()
except PrismError:
    pytest.skip("Ray is not installed", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers on this machine, for the tests of this file."""
    start_private(num_cpus=2, log_to_driver=False, object_store_memory=200 * 2**20)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    E, T, _ = problem(20_000, 64, 8, dtype=np.float32, rank=8)
    E[::1000] = 0
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, E)
    return path, E, T


def opened(path, rows=4096):
    from prism_audio.out_of_core.ray_chunks import open_ray_chunks

    return open_ray_chunks(open_table(path), rows)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_the_cluster_gives_what_one_process_gives(preset, rows):
    path, E, T = rows
    model = PRISM(preset, K=8)
    memory, chunks, cluster = (
        PRISM(**model.get_params()).fit(X, prototypes=T)
        for X in (E, open_chunks(open_table(path), 999), opened(path))
    )
    for other in (chunks, cluster):
        np.testing.assert_array_equal(memory.labels_, other.labels_)
        np.testing.assert_allclose(memory.adapter_.W, other.adapter_.W, atol=1e-4)


def test_labels_on_the_cluster_are_labels_in_memory(rows):
    path, E, T = rows
    y = np.where(np.arange(len(E)) % 200 == 7, np.argmax(E @ T.T, axis=1), -1)
    memory, cluster = (PRISM().fit(X, y, prototypes=T) for X in (E, opened(path)))
    np.testing.assert_array_equal(memory.labels_, cluster.labels_)
    assert memory.adapter_.facts.labels == cluster.adapter_.facts.labels == 100


def test_a_chunk_that_is_damaged_meanwhile_is_named(rows, tmp_path):
    path, _, T = rows
    copy = tmp_path / "copy.npy"
    copy.write_bytes(path.read_bytes())
    source = opened(copy)
    os.truncate(copy, copy.stat().st_size // 2)
    with pytest.raises(PrismError, match=r"copy\.npy ends before its row") as caught:
        PRISM("paper", K=8).fit(source, prototypes=T)
    assert "Traceback" not in str(caught.value)


def test_a_worker_that_is_killed_changes_nothing(rows):
    path, E, T = rows
    source = opened(path, 2048)
    stop, killed = threading.Event(), []

    def kill() -> None:
        rng = np.random.default_rng()
        while not stop.is_set() and len(killed) < 3:
            time.sleep(rng.uniform(0.0, 0.05))
            if (busy := workers_at("_scan")) and rng.random() < 0.3:
                killed.append(int(rng.choice(busy)))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(20):  # a calibration may be over before a worker was met at work
            model = PRISM("paper", K=8).fit(source, prototypes=T)
            if killed:
                break
    finally:
        stop.set()
        killer.join()
    assert killed
    whole = PRISM("paper", K=8).fit(E, prototypes=T)
    np.testing.assert_array_equal(whole.labels_, model.labels_)
    np.testing.assert_allclose(whole.adapter_.W, model.adapter_.W, atol=1e-4)

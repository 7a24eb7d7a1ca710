"""The shared encoder: windows of many callers in one batch, each with the answer it has alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism_audio.serve import embedding
from prism_audio.serve.embedding import LIVE, PATIENT, URGENT, EmbeddingQueue, SharedEncoder
from tests.helpers.bands import BandEncoder


class Watched(BandEncoder):
    """Remembers its batches; waits in the first until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[np.ndarray] = []
        self.entered, self.go = threading.Event(), threading.Event()

    def embed_windows(self, windows):
        self.batches.append(windows[:, 0].copy())
        self.entered.set()
        self.go.wait(10)
        if (windows == 9).any():
            raise RuntimeError("nine")
        return super().embed_windows(windows)


def windows(value: float, count: int = 2) -> np.ndarray:
    sound = np.random.default_rng(int(value)).standard_normal((count, 4000)).astype(np.float32)
    sound[:, 0] = value
    return sound


@pytest.fixture
def encoder():
    return Watched()


@pytest.fixture
def queue(encoder):
    yield EmbeddingQueue(encoder, threads=1)
    encoder.go.set()


def held(queue, encoder, threads, *asked):
    """Keep the queue busy, hand in what is asked for one after the other, then let it go."""
    busy = threads.submit(queue.embed, windows(0, 1), URGENT)
    assert encoder.entered.wait(10)
    futures = []
    for value, priority in asked:
        futures.append(threads.submit(queue.embed, windows(value), priority))
        while queue.waiting < 2 * len(futures):
            pass
    encoder.go.set()
    busy.result()
    return futures


def test_what_waits_is_embedded_together_and_as_if_alone(queue, encoder):
    with ThreadPoolExecutor(8) as threads:
        futures = held(queue, encoder, threads, (1, URGENT), (2, URGENT), (3, URGENT))
        for value, future in zip((1, 2, 3), futures, strict=True):
            alone = BandEncoder().embed_windows(windows(value))
            assert np.array_equal(future.result(), alone)
    assert [len(batch) for batch in encoder.batches] == [1, 6]
    assert (queue.windows, queue.batches) == (7, 2)


def test_what_is_urgent_goes_first(queue, encoder):
    with ThreadPoolExecutor(8) as threads:
        futures = held(queue, encoder, threads, (1, PATIENT), (2, URGENT), (3, PATIENT))
        for future in futures:
            future.result()
    assert encoder.batches[1].tolist() == [2, 2, 1, 1, 3, 3]


def test_a_batch_is_bounded(queue, encoder):
    with ThreadPoolExecutor(70) as threads:
        futures = held(queue, encoder, threads, *((1, URGENT) for _ in range(60)))
        for future in futures:
            future.result()
    assert [len(batch) for batch in encoder.batches] == [1, 32, 32, 32, 24]  # 16 s of half a second


def test_a_failure_reaches_those_it_concerns_and_ends_nothing(queue, encoder):
    encoder.go.set()
    with pytest.raises(RuntimeError, match="nine"):
        queue.embed(windows(9), URGENT)
    assert len(queue.embed(windows(1), URGENT)) == 2


def test_a_stream_does_not_wait_for_a_batch_under_way(queue, encoder):
    with ThreadPoolExecutor(4) as threads:
        busy = threads.submit(queue.embed, windows(0, 1), URGENT)
        assert encoder.entered.wait(10)
        other = threads.submit(queue.embed, windows(2), URGENT)
        while not queue.waiting:
            pass
        live = threads.submit(queue.embed, windows(1, 1), LIVE)
        while len(encoder.batches) < 2:
            pass
        assert encoder.batches[1].tolist() == [1]  # and for no company
        encoder.go.set()
        assert [len(future.result(10)) for future in (busy, other, live)] == [1, 2, 1]


def test_many_threads_all_get_their_own(encoder):
    encoder.go.set()
    queue = EmbeddingQueue(encoder, threads=2)
    asked = [(value % 7, (LIVE, URGENT, PATIENT)[value % 3]) for value in range(300)]
    with ThreadPoolExecutor(16) as threads:
        futures = [threads.submit(queue.embed, windows(v), priority) for v, priority in asked]
        for (value, _), future in zip(asked, futures, strict=True):
            assert np.array_equal(future.result(20), BandEncoder().embed_windows(windows(value)))
    assert (queue.waiting, queue.windows) == (0, 600)


def test_the_shared_encoder_is_one(queue, encoder):
    encoder.go.set()
    shared = SharedEncoder(queue, URGENT)
    assert (shared.id, shared.dim, shared.fingerprint) == ("bands", 16, encoder.fingerprint)
    rows = shared.embed_windows(windows(1))
    weights = np.ones(2, np.float32)
    assert np.array_equal(shared.pool(rows, weights), encoder.pool(rows, weights))
    assert np.array_equal(shared.embed_text(["tone 3"]), encoder.embed_text(["tone 3"]))
    assert not hasattr(shared, "pad")


def test_a_thread_that_hangs_does_not_stop_the_others(queue, encoder, monkeypatch):
    monkeypatch.setattr(embedding, "LONGEST_TURN", 0.01)
    encoder.go.set()
    turns = threading.Semaphore(1)
    with embedding._Turn(turns):  # and this one never gives it back
        mine = embedding._Turn(turns)
        with mine:
            assert len(SharedEncoder(queue, URGENT, mine).embed_windows(windows(1))) == 2
    assert turns.acquire(blocking=False)
    assert not turns.acquire(blocking=False)  # as many turns as before

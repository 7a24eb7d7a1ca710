"""The queue to the encoder: windows of many tasks in one batch, each with the answer it has alone."""

from __future__ import annotations

import asyncio
import threading
import time

import numpy as np
import pytest

from prism_audio.serve import embedding_queue
from prism_audio.serve.embedding_queue import PATIENT, URGENT, EmbeddingQueue
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


def steps(*pieces: np.ndarray):
    """A task of some pieces, with a pause between them; its result are the rows of all."""
    rows = []
    for number, piece in enumerate(pieces):
        if number:
            yield ()
        rows.append((yield piece))
    return np.concatenate(rows)


@pytest.fixture
def encoder():
    return Watched()


@pytest.fixture
def queue(encoder):
    queue = EmbeddingQueue(encoder, threads=1)
    yield queue
    encoder.go.set()
    queue.close()


async def held(queue, encoder, *asked):
    """Keep the queue busy, hand in what is asked for one after the other, then let it go."""
    busy = queue.put(steps(windows(0, 1)), URGENT)
    assert await asyncio.to_thread(encoder.entered.wait, 10)
    tasks = [queue.put(task, patience) for task, patience in asked]
    assert queue.waiting == len(tasks)
    encoder.go.set()
    await busy
    return [await task for task in tasks]


def run(queue, encoder, *asked):
    return asyncio.run(held(queue, encoder, *asked))


def test_what_waits_is_embedded_together_and_as_if_alone(queue, encoder):
    results = run(queue, encoder, *((steps(windows(v)), URGENT) for v in (1, 2, 3)))
    for value, rows in zip((1, 2, 3), results, strict=True):
        assert np.array_equal(rows, BandEncoder().embed_windows(windows(value)))
    assert [len(batch) for batch in encoder.batches] == [1, 6]
    assert (queue.windows, queue.batches) == (7, 2)


def test_what_is_urgent_goes_first(queue, encoder):
    tasks = ((1, PATIENT), (2, URGENT), (3, PATIENT))
    run(queue, encoder, *((steps(windows(v)), patience) for v, patience in tasks))
    assert encoder.batches[1].tolist() == [2, 2, 1, 1, 3, 3]


def test_what_is_patient_is_not_put_off_for_ever(queue, encoder):
    patient = steps(windows(1, 32))

    async def ask():
        busy = queue.put(steps(windows(0, 1)), URGENT)
        assert await asyncio.to_thread(encoder.entered.wait, 10)
        tasks = [queue.put(patient, PATIENT)]
        await asyncio.sleep(PATIENT + 0.05)
        tasks.append(queue.put(steps(windows(2, 32)), URGENT))
        encoder.go.set()
        await asyncio.gather(busy, *tasks)

    asyncio.run(ask())
    assert [batch[0] for batch in encoder.batches] == [0, 1, 2]


def test_a_batch_is_bounded(queue, encoder):
    run(queue, encoder, *((steps(windows(1)), URGENT) for _ in range(60)))
    assert [len(batch) for batch in encoder.batches] == [1, 32, 32, 32, 24]  # 16 s of half a second


def test_what_does_not_fit_is_in_the_next_batch(queue, encoder):
    run(queue, encoder, *((steps(windows(v, 20)), URGENT) for v in (1, 2)))
    assert [len(batch) for batch in encoder.batches] == [1, 20, 20]


def test_a_long_task_lets_others_go_between_its_pieces(queue, encoder):
    pieces = [windows(1, 32), windows(2, 32)]
    rows, _ = run(queue, encoder, (steps(*pieces), URGENT), (steps(windows(3, 32)), URGENT))
    assert [batch[0] for batch in encoder.batches] == [0, 1, 3, 2]
    assert np.array_equal(rows, BandEncoder().embed_windows(np.concatenate(pieces)))


def test_a_failure_reaches_those_it_concerns_and_ends_nothing(queue, encoder):
    encoder.go.set()

    async def ask(value):
        return await queue.put(steps(windows(value)), URGENT)

    with pytest.raises(RuntimeError, match="nine"):
        asyncio.run(ask(9))
    assert len(asyncio.run(ask(1))) == 2


def test_a_task_that_is_cancelled_ends_at_its_next_pause(queue, encoder):
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield windows(1)
                yield ()
        finally:
            closed.set()

    async def ask():
        task = queue.put(endless(), URGENT)
        assert await asyncio.to_thread(encoder.entered.wait, 10)
        task.cancel()
        encoder.go.set()
        assert await asyncio.to_thread(closed.wait, 10)
        assert len(await queue.put(steps(windows(2)), URGENT)) == 2

    asyncio.run(ask())


def test_many_tasks_all_get_their_own(encoder):
    encoder.go.set()
    queue = EmbeddingQueue(encoder, threads=2)
    asked = [(value % 7, (URGENT, PATIENT)[value % 2]) for value in range(300)]

    async def ask():
        return await asyncio.gather(*(queue.put(steps(windows(v)), p) for v, p in asked))

    for (value, _), rows in zip(asked, asyncio.run(ask()), strict=True):
        assert np.array_equal(rows, BandEncoder().embed_windows(windows(value)))
    assert (queue.waiting, queue.windows) == (0, 600)
    queue.close()


def test_a_decoder_that_hangs_does_not_stop_the_others(queue, encoder, monkeypatch):
    monkeypatch.setattr(embedding_queue, "LONGEST_TURN", 0.01)
    encoder.go.set()
    free = threading.Event()

    def hanging():
        free.wait(10)
        return (yield windows(1))

    async def ask():
        hung = queue.put(hanging(), URGENT)
        other = queue.put(steps(windows(2)), URGENT)
        until = time.monotonic() + 10
        while not other.done() and time.monotonic() < until:
            await asyncio.sleep(0.02)
        assert other.done()
        assert not hung.done()
        free.set()
        assert len(await hung) == 2
        assert len(await queue.put(steps(windows(3)), URGENT)) == 2

    asyncio.run(ask())


def test_one_that_takes_long_to_finish_does_not_stop_the_others(encoder):
    encoder.go.set()
    queue, free = EmbeddingQueue(encoder, threads=2), threading.Event()

    def slow():
        yield windows(1)
        free.wait(10)

    async def ask():
        late = queue.put(slow(), URGENT)
        await asyncio.sleep(0.05)
        for value in range(20):
            assert len(await queue.put(steps(windows(value % 7)), URGENT)) == 2
        assert not late.done()
        free.set()
        await late

    began = time.monotonic()
    asyncio.run(ask())
    assert time.monotonic() - began < 2
    queue.close()

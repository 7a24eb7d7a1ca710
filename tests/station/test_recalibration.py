from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.listener import Listener, Pace, WindowAnswer
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import AdapterStore
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.station.recalibration import Outcome, Recalibration, Reservoir
from prism_audio.station.when import When
from tests.helpers.bands import LABELS, BandEncoder, tone

EVENING = datetime(2026, 5, 4, 20, 0).astimezone()


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    return Vocabulary.from_text(BandEncoder(), read_labels(LABELS), PromptSet.load("plain"))


def sound(seconds: int) -> Iterator[np.ndarray]:
    """Changing tones, a second at a time."""
    for second in range(seconds):
        yield tone((2, 7, 12)[second % 3], 1.0, second, 0.1).astype(np.float32)


class Yard:
    """A source with a recalibration; every window of its sound takes five minutes of the clock."""

    def __init__(self, folder: Path, adapter: Adapter, when: When, least: int = 40) -> None:
        self.store = AdapterStore(folder)
        self.listener = Listener(BandEncoder(), adapter, Pace.fit(BandEncoder()))
        self.again = Recalibration(when, self.store, "yard", preset="paper", least=least)
        self.now = EVENING

    def hear(self, seconds: int) -> list[Outcome]:
        outcomes = []
        for notice in self.listener.hear(sound(seconds)):
            self.now += timedelta(minutes=5 * isinstance(notice, WindowAnswer))
            if outcome := self.again.take(notice, self.listener, self.now):
                outcomes.append(outcome)
            self._finish()
        return outcomes

    def _finish(self) -> None:
        if self.again._running is not None:
            self.again._running.result()  # so that the test knows when it is over


def test_every_night_once_and_never_before(tmp_path: Path, words: Vocabulary) -> None:
    yard = Yard(tmp_path, words.adapter(), When.nightly)
    plain = yard.listener.adapter
    assert yard.hear(12) == []  # until midnight
    assert yard.listener.adapter is plain
    (outcome,) = yard.hear(30)  # until ten in the morning
    assert (outcome.taken, outcome.version) == (True, 1)
    assert yard.listener.adapter is outcome.adapter
    assert outcome.adapter.facts.N > 80
    history = yard.store.history("yard")
    assert (history.in_use, len(history.versions)) == (1, 1)
    np.testing.assert_array_equal(Adapter.load(yard.store.file("yard")).W, outcome.adapter.W)
    assert len(yard.hear(72)) == 1  # the next night


def test_a_weaker_calibration_is_kept_and_not_used(tmp_path: Path, words: Vocabulary) -> None:
    plain = words.adapter()
    strong = replace(plain, facts=replace(plain.facts, verdict="adapted", numbers={"weight": 1.0}))
    yard = Yard(tmp_path, strong, When.nightly)
    yard.again._preset = "default"
    (outcome,) = yard.hear(30)
    assert outcome.adapter.facts.verdict != "adapted" or outcome.adapter.facts.weight < 0.9
    assert not outcome.taken
    assert yard.listener.adapter is strong
    history = yard.store.history("yard")
    assert (history.in_use, [v.version for v in history.versions]) == (0, [1])
    assert not yard.store.file("yard").exists()


def test_undo_is_followed_by_a_running_station(tmp_path: Path, words: Vocabulary) -> None:
    yard = Yard(tmp_path, words.adapter(), When.nightly)
    (outcome,) = yard.hear(30)
    assert yard.listener.adapter is outcome.adapter
    yard.store.use("yard", yard.store.history("yard"), 0, words.adapter())
    yard.hear(5)
    assert yard.listener.adapter.facts.verdict == ""
    np.testing.assert_array_equal(yard.listener.adapter.W, words.adapter().W)


def test_drift_calibrates_on_what_came_after_it(tmp_path: Path, words: Vocabulary) -> None:
    yard = Yard(tmp_path, words.adapter(), When.drift, least=40)
    assert yard.hear(80) == []  # nights do not matter
    yard.again.take(Drifted(0.7, away=True), yard.listener, yard.now)
    (outcome,) = yard.hear(15)
    assert outcome.adapter.facts.N == 40
    assert yard.hear(15) == []
    yard.again.take(Drifted(0.7, away=True), yard.listener, yard.now)
    yard.hear(5)
    yard.again.take(Drifted(0.3, away=False), yard.listener, yard.now)  # it is back
    assert yard.hear(15) == []


def test_the_reservoir_is_a_fair_sample() -> None:
    chosen = np.zeros(1000)
    for seed in range(200):
        reservoir = Reservoir(most=50, seed=seed)
        for number in range(1000):
            reservoir.add(float(number), number + 1.0, np.zeros(1, np.float32))
        batch = reservoir.batch(BandEncoder())
        assert len(reservoir) == len(batch) == 50
        chosen[batch.start.astype(int)] += 1
    # Each of ten parts of the stream is drawn from alike: 1000 draws expected, deviation 30.
    assert np.abs(chosen.reshape(10, 100).sum(axis=1) - 1000).max() < 150

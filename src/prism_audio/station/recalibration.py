"""Recalibration: a station that goes on learning its place, with the way back.

A reservoir holds a sample of the windows since the last calibration. Every night, or once the sound
has moved away from the calibration, the place is calibrated on it. The result is kept as a version
in the history of the source, and used where its verdict is no worse than that of the one in use.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prism_audio.io.locks import exclusive
from prism_audio.io.types import Float32
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.listener import Listener, Switched, WindowAnswer
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import AdapterStore, is_weaker
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.station.when import When

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder

# Windows in the reservoir at most, and for a calibration at least.
MOST, LEAST = 2000, 200
# The hour of the night, and seconds between two looks at what others did to the history.
NIGHT, LOOK = 3, 60.0


class Outcome(NamedTuple):
    """A new version of a source's adapter, and whether it is used."""

    adapter: Adapter
    version: int
    taken: bool


class Reservoir:
    """A fair sample of a stream of rows: each has the same chance to be in it.

    Parameters
    ----------
    most : int
        Rows that it holds.
    seed : int
        Of the draws.
    """

    def __init__(self, most: int = MOST, seed: int = 0) -> None:
        self._most, self._rng = most, np.random.default_rng(seed)
        self.clear()

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        """Begin again."""
        self._rows: list[tuple[float, float, Float32]] = []
        self._seen = 0

    def add(self, start: float, end: float, row: Float32) -> None:
        """Take in a row, or leave it."""
        self._seen += 1
        if len(self._rows) < self._most:
            self._rows.append((start, end, row))
        elif (place := int(self._rng.integers(self._seen))) < self._most:
            self._rows[place] = (start, end, row)

    def batch(self, encoder: Encoder) -> Batch:
        """The rows, for a calibration."""
        return Batch.of_windows(self._rows, encoder)


class Recalibration:
    """Calibrates one source again, beside its listening.

    Parameters
    ----------
    when : When
        Every night, or on drift.
    store : AdapterStore
        Keeps the versions.
    name : str
        Of the source, in the store.
    preset : str
        Of the calibration.
    least : int
        Windows that it takes at least.
    """

    def __init__(
        self,
        when: When | None,
        store: AdapterStore,
        name: str,
        *,
        preset: str = "default",
        least: int = LEAST,
    ) -> None:
        self._when, self._store, self._name = when, store, name
        self._preset, self._least = preset, least
        self._reservoir = Reservoir()
        self._version = store.history(name).in_use
        self._night: date | None = None
        self._due = False
        self._looked: datetime | None = None
        self._running: Future[Adapter] | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="recalibration")

    def take(self, notice: object, listener: Listener, now: datetime) -> Outcome | None:
        """Take in what a listener says; gives a new version when there is one."""
        if isinstance(notice, Switched):  # the warm-up is over
            self._reservoir.clear()
            return self._keep(notice.adapter, listener)
        if isinstance(notice, Drifted) and self._when is When.drift:
            # What was heard before the drift is of another place.
            self._reservoir.clear()
            self._due = notice.away
        if isinstance(notice, WindowAnswer):
            self._reservoir.add(notice.start, notice.end, notice.embedding)
            self._follow(listener, now)
            return self._calibrate(listener, now)
        return None

    def _calibrate(self, listener: Listener, now: datetime) -> Outcome | None:
        if self._running is not None:
            if not self._running.done():
                return None
            finished, self._running = self._running, None
            return self._keep(finished.result(), listener)
        night = (now.astimezone() - timedelta(hours=NIGHT)).date()
        if self._when is When.nightly:
            self._due |= self._night is not None and night > self._night
        self._night = night
        if self._when is None or not self._due or len(self._reservoir) < self._least:
            return None
        self._due = False
        batch, words = self._reservoir.batch(listener.encoder), Vocabulary.of(listener.adapter)
        self._reservoir.clear()
        place, preset = listener.adapter.facts.place or self._name, self._preset
        self._running = self._worker.submit(
            lambda: calibrate_place(batch, words, place=place, preset=preset)
        )
        return None

    def _keep(self, adapter: Adapter, listener: Listener) -> Outcome:
        """Put an adapter into the history, and use it where it is no weaker."""
        before = listener.adapter
        taken = adapter is before or not is_weaker(adapter, before)
        with exclusive(self._store.folder / ".lock"):
            history = self._store.history(self._name)
            history = self._store.add(self._name, history, adapter, "calibration")
            version = history.versions[-1].version
            if taken:
                self._store.use(self._name, history, version, adapter)
        if taken:
            self._version = version
            if adapter is not before:
                listener.switch_to(adapter)
        return Outcome(adapter, version, taken)

    def _follow(self, listener: Listener, now: datetime) -> None:
        """Go on with another version where somebody has chosen one (``prism history --use``)."""
        if self._looked is not None and abs((now - self._looked).total_seconds()) < LOOK:
            return
        self._looked = now
        version = self._store.history(self._name).in_use
        if version != self._version:
            self._version = version
            listener.switch_to(Adapter.load(self._store.file(self._name)))

"""Sources of a station: microphone, raw samples, recordings, growing folders, network streams."""

from __future__ import annotations

import io
import select
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import BinaryIO, Protocol, cast

from prism_audio.audio.capture import microphone_blocks, pcm_blocks
from prism_audio.audio.decode import stream
from prism_audio.audio.network import NetworkStream
from prism_audio.audio.watch import finished_files
from prism_audio.audio.watchdog import StateCallback, Watchdog
from prism_audio.datasets.folder import audio_files
from prism_audio.errors import AudioError, PrismError
from prism_audio.io.types import Float32
from prism_audio.station.clock import Clock, LiveClock, recording_clock

# Seconds without a new recording after which a folder counts as lost: recorders write by the hour.
FOLDER_LIMIT = 2 * 3600.0
# Seconds between two looks whether a pipe that gives nothing is still wanted.
LOOK = 0.2
# Seconds before a microphone is opened again, the first time and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


@dataclass(frozen=True)
class Recording:
    """A stretch of sound: a file, or all that a live source gives.

    ``name`` and ``changed`` tell a file; live sound has no name and cannot be heard again.
    """

    blocks: Iterator[Float32]
    clock: Clock
    name: str | None = None
    changed: int = 0


@dataclass(frozen=True)
class Surroundings:
    """What a source needs to know of the station.

    Attributes
    ----------
    rate : int
        Hz of the sound that is wanted.
    stop : Event
        Set when the station ends.
    on_state : callable
        Told every change of the source's state.
    patience : float
        Seconds of silence, or without sound, before that is said.
    is_finished : callable
        Whether a recording of that name and time of change has been heard before.
    remembers : bool
        Whether anybody keeps that, so that a recording which is broken off is heard again.
    watchdogs : list of Watchdog
        Where a source puts what must be looked at from outside.
    """

    rate: int
    stop: Event
    on_state: StateCallback
    patience: float
    is_finished: Callable[[str, int], bool]
    remembers: bool = False
    watchdogs: list[Watchdog] = field(default_factory=list)

    def watchdog(self, name: str, limit: float | None = None) -> Watchdog:
        """A watchdog that the station looks after."""
        limit = self.patience if limit is None else limit
        self.watchdogs.append(Watchdog(name, self.on_state, self.patience, limit))
        return self.watchdogs[-1]


class Source(Protocol):
    """Where sound comes from.

    ``name`` is short: letters, digits, ``-`` and ``_``; ``address`` is what a user calls it, without a
    password.
    """

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    def recordings(self, around: Surroundings) -> Iterator[Recording]:
        """Its sound, until it ends or ``around.stop`` is set."""
        ...


@dataclass(frozen=True)
class Microphone:
    """A microphone; one that is unplugged is opened again after a pause."""

    name: str
    device: str | None = None
    address: str = "mic"

    def recordings(self, around: Surroundings) -> Iterator[Recording]:
        yield Recording(self._blocks(around), LiveClock())

    def _blocks(self, around: Surroundings) -> Iterator[Float32]:
        watchdog = around.watchdog("microphone")
        heard, pause = False, FIRST_PAUSE
        while not around.stop.is_set():
            try:
                for block in microphone_blocks(around.rate, self.device, around.stop):
                    heard, pause = True, FIRST_PAUSE
                    watchdog.add(block, around.rate)
                    yield block
            except PrismError as error:
                if not heard:  # it was never there: wrong usage
                    raise
                watchdog.lose(f"{error}; trying again in {pause:.3g} s")
                around.stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)


class StoppablePipe(io.RawIOBase):
    """A pipe that ends when ``stop`` is set, also while it gives nothing."""

    def __init__(self, file: BinaryIO, stop: Event) -> None:
        self._file, self._stop = file, stop

    def read(self, size: int = -1) -> bytes:
        while not self._stop.is_set():
            if self._is_ready():
                return self._file.read(size)
        return b""

    def _is_ready(self) -> bool:
        try:
            return bool(select.select([self._file], [], [], LOOK)[0])
        except (OSError, ValueError):  # no pipe of the system, which answers at once
            return True


@dataclass(frozen=True)
class RawSamples:
    """Raw samples on standard input or in another pipe."""

    name: str
    file: BinaryIO
    rate: int
    form: str = "s16le"
    channels: int = 1
    address: str = "-"

    def recordings(self, around: Surroundings) -> Iterator[Recording]:
        watchdog = around.watchdog("standard input")
        pipe = StoppablePipe(self.file, around.stop)

        def blocks() -> Iterator[Float32]:
            for block in pcm_blocks(
                cast(BinaryIO, pipe),
                self.rate,
                around.rate,
                form=self.form,
                channels=self.channels,
            ):
                watchdog.add(block, around.rate)
                yield block

        yield Recording(blocks(), LiveClock())


@dataclass(frozen=True)
class Network:
    """A network stream, which connects again by itself."""

    name: str
    url: str

    @property
    def address(self) -> str:
        """The address without user and password."""
        return NetworkStream(self.url).name

    def recordings(self, around: Surroundings) -> Iterator[Recording]:
        silence, on_state, stop = around.patience, around.on_state, around.stop
        network = NetworkStream(self.url, silence=silence, on_state=on_state, stop=stop)
        yield Recording(network.blocks(around.rate), LiveClock())


@dataclass(frozen=True)
class File:
    """One recording."""

    name: str
    path: Path

    @property
    def address(self) -> str:
        """Its path."""
        return str(self.path)

    def recordings(self, around: Surroundings) -> Iterator[Recording]:
        yield _recording(self.path, self.path.name, around.rate)


@dataclass(frozen=True)
class Folder:
    """A folder that a recorder writes into: every recording once it has stopped growing."""

    name: str
    path: Path
    settle: float = 10.0

    @property
    def address(self) -> str:
        """Its path."""
        return str(self.path)

    def recordings(self, around: Surroundings) -> Iterator[Recording]:
        watchdog = around.watchdog(self.name, max(around.patience, FOLDER_LIMIT))
        for path in finished_files(self._files, settle=self.settle, stop=around.stop):
            name = path.relative_to(self.path).as_posix()
            try:
                if around.is_finished(name, path.stat().st_mtime_ns):
                    continue
                yield _recording(path, name, around.rate, watchdog)
            except (OSError, AudioError) as error:
                watchdog.lose(f"{name} cannot be read: {error}")

    def _files(self) -> list[Path]:
        # A folder on another machine comes back; until then it is empty.
        return audio_files(self.path, lambda path, error: None) if self.path.is_dir() else []


def _recording(path: Path, name: str, rate: int, watchdog: Watchdog | None = None) -> Recording:
    def blocks() -> Iterator[Float32]:
        for block in stream(path, rate):
            if watchdog is not None:
                watchdog.add(block, rate)
            yield block

    return Recording(blocks(), recording_clock(path), name, path.stat().st_mtime_ns)

"""From the options of ``prism listen`` to the listeners and sinks of a station."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prism_audio.cli.console import note, printable
from prism_audio.errors import InputError
from prism_audio.labelling.listener import Listener, Pace, Switched
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import AdapterStore
from prism_audio.station.hearing import Hearing, Rolls
from prism_audio.station.messages import Message, Notice
from prism_audio.station.recalibration import Recalibration
from prism_audio.station.sinks.base import Sink
from prism_audio.station.sinks.clips import FORMATS, Clips, Limits
from prism_audio.station.sinks.database import Database
from prism_audio.station.sinks.mqtt import Mqtt
from prism_audio.station.sources import File, Microphone, RawSamples, Source
from prism_audio.station.when import When

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder


@dataclass(frozen=True)
class ListenerSettings:
    """How every source is heard; see the options of the command."""

    window: float | None
    hop: float | None
    confirm: int
    threshold: float | None
    warmup: int
    preset: str
    place: str | None
    every: bool
    rolls: Rolls | None
    adapters: Path | None
    recalibrate: When | None
    multi: bool

    def hearing(self, source: Source, encoder: Encoder, adapter: Adapter) -> Hearing:
        """A source with its listener, which goes on with the adapter that the source had last."""
        store = None if self.adapters is None else AdapterStore(self.adapters)
        stored = self._stored(store, source, adapter)
        used = stored or adapter
        listener = Listener(
            encoder,
            used,
            Pace.for_adapter(encoder, used, self.window, self.hop, self.confirm),
            threshold=self.threshold,
            warmup=0 if stored else self.warmup,
            preset=self.preset,
            place=self.place or _place(source),
            multi=self.multi,
        )
        again = None
        if store is not None:
            again = Recalibration(self.recalibrate, store, source.name, preset=self.preset)
        return Hearing(source, listener, rolls=self.rolls, every=self.every, recalibration=again)

    def _stored(self, store: AdapterStore | None, source: Source, given: Adapter) -> Adapter | None:
        if store is None:
            return None
        store.folder.mkdir(parents=True, exist_ok=True)
        file = store.file(source.name)
        if not file.exists():
            return None
        adapter = Adapter.load(file)
        if adapter.labels == given.labels:
            return adapter
        note(f"{printable(file)} has other labels and is not used; the new ones count")
        return None


@dataclass(frozen=True)
class SinkSettings:
    """What happens with events; see the options of the command."""

    db: Path | None
    clips: Path | None
    clip_format: str
    keep: str | None
    max_gb: float | None
    mqtt: str | None

    def __post_init__(self) -> None:
        if self.clip_format not in FORMATS:
            raise InputError(f"--clip-format {self.clip_format!r} is neither flac nor wav")
        if self.clips is None and (self.keep is not None or self.max_gb is not None):
            raise InputError("--keep and --max-gb limit the clips; give --clips FOLDER too")
        self.limits()

    def limits(self) -> Limits:
        """What is kept of the clips."""
        return Limits.parse(self.keep, self.max_gb)

    def database(self, sources: Sequence[Source]) -> Database | None:
        """The database, if one is wanted."""
        return None if self.db is None else Database(self.db, sources)

    def sinks(
        self,
        sources: Sequence[Source],
        labels: Sequence[str],
        database: Database | None,
        warn: Callable[[str], None],
    ) -> list[Sink]:
        """The sinks in the order in which they get an event: the clip first, which others name."""
        sinks: list[Sink] = []
        if self.clips is not None:
            records = (database.forget_clip, database.is_recorded) if database else ()
            sinks.append(Clips(self.clips, self.limits(), self.clip_format, *records))
        if database is not None:
            sinks.append(database)
        if self.mqtt is not None:
            sinks.append(Mqtt(self.mqtt, sources, labels, warn))
        return sinks


class AdapterSink:
    """A sink that saves the adapter of a warm-up."""

    announces = False

    def __init__(self, path: Path) -> None:
        self.name, self._path = f"adapter {path}", path

    def start(self) -> None: ...

    def write(self, message: Message) -> bool:
        if not (isinstance(message, Notice) and isinstance(message.notice, Switched)):
            return False
        note(f"wrote {printable(message.notice.adapter.save(self._path))}")
        return True

    def close(self) -> None: ...


def _place(source: Source) -> str:
    if isinstance(source, Microphone | RawSamples):
        return ""
    return source.path.name if isinstance(source, File) else Path(source.address).name

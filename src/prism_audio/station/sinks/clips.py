"""The sound of events as files, in a folder for every label, within limits."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import soundfile

from prism_audio.errors import InputError, PrismError
from prism_audio.io.atomic import TEMPORARY, atomic_write
from prism_audio.io.text import slug
from prism_audio.station.messages import Message, StationEvent, time_in_id

FORMATS = ("flac", "wav")
# How much earlier or later an event may be found when its recording is heard again.
AROUND = timedelta(seconds=5)


@dataclass(frozen=True)
class Limits:
    """How many clips of a label are kept, and how many bytes of all; the oldest go first."""

    each: int | None = None
    total: float = float("inf")

    @classmethod
    def parse(cls, keep: str | None, max_gb: float | None) -> Limits:
        """Read ``--keep 20/label`` and ``--max-gb 5``."""
        each = None
        if keep is not None:
            match = re.fullmatch(r"([1-9]\d*)(/label)?", keep)
            if match is None:
                raise InputError(
                    f"--keep {keep!r} is no number of clips; write for example 20/label"
                )
            each = int(match[1])
        return cls(each, float("inf") if max_gb is None else max_gb * 1e9)


class Clips:
    """A sink that writes every event's sound to ``folder/label/id.flac``.

    Parameters
    ----------
    folder : path
        Where; clips that are there count.
    limits : Limits
        What is kept.
    form : str
        ``flac`` or ``wav``.
    on_remove : callable
        Told every clip that is removed.
    is_recorded : callable
        Whether the event of an id is in the records. A process that was killed between writing a clip
        and recording its event hears a recording again, and may then find the event a little
        earlier or later, under another id: the clip that no record names is replaced.
    """

    announces = False

    def __init__(
        self,
        folder: Path,
        limits: Limits | None = None,
        form: str = "flac",
        on_remove: Callable[[Path], None] = lambda path: None,
        is_recorded: Callable[[str], bool] = lambda id: True,
    ) -> None:
        self.name = f"clips in {folder}"
        self._folder, self._limits, self._form = folder.resolve(), limits or Limits(), form
        self._on_remove, self._is_recorded = on_remove, is_recorded
        self._clips: deque[tuple[Path, int]] = deque()  # the oldest first

    def start(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            files = [path for path in self._folder.glob("*/*") if path.is_file()]
            for path in files:
                if path.name.endswith(TEMPORARY):
                    path.unlink()
            clips = [path for path in files if path.suffix[1:] in FORMATS]
            stamped = sorted((path.stat().st_mtime_ns, path) for path in clips)
            self._clips = deque((path, path.stat().st_size) for _, path in stamped)
        except OSError as error:
            raise PrismError(
                f"cannot use the folder {self._folder}: {error.strerror or error}; "
                "give another one for --clips"
            ) from None
        for label in {path.parent.name for path, _ in self._clips}:
            self._tidy(label)

    def write(self, message: Message) -> bool:
        if not isinstance(message, StationEvent) or message.sound is None:
            return False
        folder = self._folder / slug(message.label)
        folder.mkdir(exist_ok=True)
        path = folder / f"{message.id}.{self._form}"
        file = io.BytesIO()
        soundfile.write(file, message.sound, message.rate, "PCM_16", format=self._form)
        with atomic_write(path) as target:
            target.write(file.getbuffer())
        replaced = {path, *self._leftovers(message, folder)}
        for leftover in replaced - {path}:
            leftover.unlink(missing_ok=True)
        self._clips = deque(clip for clip in self._clips if clip[0] not in replaced)
        self._clips.append((path, file.getbuffer().nbytes))
        message.clip = path
        self._tidy(folder.name)
        return True

    def close(self) -> None: ...

    def _leftovers(self, event: StationEvent, folder: Path) -> list[Path]:
        """Clips of an event of a recording, from a run that was killed before it was recorded."""
        if event.recording is None:
            return []
        first, last = event.started - AROUND, event.ended + AROUND
        mine = (path for path, _ in self._clips if path.parent == folder)
        return [
            path
            for path in mine
            if time_in_id(first) <= path.stem[:16] <= time_in_id(last)
            and path.stem != event.id
            and not self._is_recorded(path.stem)
        ]

    def _tidy(self, label: str) -> None:
        """Remove the oldest clips of a label that are too many, then the oldest of all."""
        mine = [clip for clip in self._clips if clip[0].parent.name == label]
        spare = set(mine[: -self._limits.each] if self._limits.each else [])
        size = sum(size for clip, size in self._clips if (clip, size) not in spare)
        for clip in self._clips:
            if size <= self._limits.total:
                break
            if clip not in spare and clip is not self._clips[-1]:
                spare.add(clip)
                size -= clip[1]
        if spare:
            self._clips = deque(clip for clip in self._clips if clip not in spare)
        for path, _ in spare:
            path.unlink(missing_ok=True)
            self._on_remove(path)

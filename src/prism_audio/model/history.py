"""Adapters with their history: the one in use for every place, and the versions it had before.

street.safetensors                     the adapter in use, as any command takes it
history/street/index.json              its versions: date, clips, verdict, labels
history/street/0003.safetensors        the adapter of one version
history/street/labels.json             what people heard in clips of the place
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from prism_audio.errors import AdapterError, PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.model.adapter import Adapter
from prism_audio.model.facts import Facts

# Versions of a place that are kept beside the one in use.
MOST_VERSIONS = 10
SUFFIX = ".safetensors"
# From the weakest to the strongest.
VERDICTS = ("none", "zero-shot", "shrunk", "adapted")
# A correction that has lost more than this share of its weight is weaker.
LOSS = 0.1


@dataclass(frozen=True)
class Version:
    """One version of a place's adapter."""

    version: int
    origin: str
    labels: tuple[str, ...]
    verdict: str
    weight: float | None
    clips: int | None
    date: str


@dataclass(frozen=True)
class History:
    """The versions of a place, oldest first; version 0 is plain zero-shot."""

    in_use: int = 0
    previous: int | None = None
    versions: tuple[Version, ...] = ()

    @classmethod
    def from_json(cls, text: bytes) -> History:
        """Read what the store wrote; ValueError, TypeError or KeyError where it is damaged."""
        document = json.loads(text)
        versions = tuple(
            Version(**{**entry, "labels": tuple(entry["labels"])}) for entry in document["versions"]
        )
        if not all(isinstance(v.version, int) and v.verdict in VERDICTS for v in versions):
            raise ValueError("a version without a number or a verdict")
        return cls(int(document["in_use"]), document["previous"], versions)


class AdapterStore:
    """A folder with the adapters of places and their versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self) -> list[Path]:
        """The adapters in use."""
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def file(self, name: str) -> Path:
        """The adapter in use of one place."""
        return self.folder / f"{name}{SUFFIX}"

    def labels_file(self, name: str) -> Path:
        """The labels that people gave clips of one place."""
        return self._folder(name) / "labels.json"

    def history(self, name: str) -> History:
        """The versions of a place; none where there is no record, or a damaged one."""
        try:
            return History.from_json((self._folder(name) / "index.json").read_bytes())
        except (OSError, ValueError, TypeError, KeyError):
            return History()

    def adapter(self, name: str, version: int) -> Adapter:
        """The adapter of one version."""
        try:
            return Adapter.load(self._file(name, version))
        except AdapterError as error:
            raise AdapterError(
                f"{name!r} has no version {version} that can be read: {error}"
            ) from None

    def add(self, name: str, history: History, adapter: Adapter, origin: str) -> History:
        """Keep another version, without using it; the oldest is dropped where there are too many."""
        folder = self._folder(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrismError(f"cannot write {folder}: {error.strerror or error}") from None
        number = max((known.version for known in history.versions), default=0) + 1
        adapter.save(self._file(name, number))
        versions = [*history.versions, _describe(adapter, number, origin)]
        spare = [v.version for v in versions if v.version not in (history.in_use, history.previous)]
        for version in spare[: max(0, len(versions) - MOST_VERSIONS)]:
            self._file(name, version).unlink(missing_ok=True)
            versions = [v for v in versions if v.version != version]
        return self._write(name, replace(history, versions=tuple(versions)))

    def use(self, name: str, history: History, version: int, adapter: Adapter) -> History:
        """Make a version the one in use."""
        adapter.save(self.file(name))
        previous = history.in_use if history.in_use != version else history.previous
        return self._write(name, replace(history, in_use=version, previous=previous))

    def remove(self, name: str) -> None:
        """Delete all files of a place."""
        self.file(name).unlink(missing_ok=True)
        shutil.rmtree(self._folder(name), ignore_errors=True)

    def rename(self, name: str, new: str) -> None:
        """Give the files of a place another name."""
        for before, after in (
            (self._folder(name), self._folder(new)),
            (self.file(name), self.file(new)),
        ):
            if before.exists():
                os.replace(before, after)

    def _write(self, name: str, history: History) -> History:
        self._folder(name).mkdir(parents=True, exist_ok=True)
        with atomic_write(self._folder(name) / "index.json") as file:
            file.write(json.dumps(asdict(history), indent=1).encode())
        return history

    def _folder(self, name: str) -> Path:
        return self.folder / "history" / name

    def _file(self, name: str, version: int) -> Path:
        return self._folder(name) / f"{version:04d}{SUFFIX}"


def verdict_of(adapter: Adapter) -> str:
    """The verdict of an adapter's calibration; ``none`` where there was none."""
    verdict = adapter.facts.verdict
    return verdict if verdict in VERDICTS else "none"


def is_weaker(adapter: Adapter, other: Adapter) -> bool:
    """Whether a correction is weaker than another: by its verdict, or by its weight."""
    mine, theirs = (VERDICTS.index(verdict_of(each)) for each in (adapter, other))
    if mine != theirs:
        return mine < theirs
    weight, wanted = rounded_weight(adapter.facts), rounded_weight(other.facts)
    return weight is not None and wanted is not None and weight < (1 - LOSS) * wanted


def rounded_weight(facts: Facts) -> float | None:
    """How much of the correction is used, for people."""
    return None if facts.weight is None else round(facts.weight, 4)


def iso_date(facts: Facts) -> str | None:
    """When a calibration was made, in ISO 8601; None where its facts do not tell."""
    try:
        when = datetime.strptime(facts.date, "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return when.isoformat()


def _describe(adapter: Adapter, number: int, origin: str) -> Version:
    facts = adapter.facts
    return Version(
        version=number,
        origin=origin,
        labels=adapter.labels,
        verdict=verdict_of(adapter),
        weight=rounded_weight(facts),
        clips=facts.N,
        date=iso_date(facts) or datetime.now(UTC).isoformat(timespec="seconds"),
    )

"""The store: embeddings of a folder of recordings, on disk.

A store is a folder: ``store.json`` says which encoder filled it and what a row stands for, and
numbered shards hold the rows. Shards are only ever added. The record of a file in a later shard
replaces that in an earlier one: the old row of a recording that has changed stays on the disk, but
readers do not see it. :mod:`prism_audio.store.update` fills a store.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismWarning, StoreError
from prism_audio.io.safe_tensors import MAX_HEADER, parse_json
from prism_audio.io.types import Float32
from prism_audio.store.shards import DamagedShard, Entry, Shard, read_shard

SCHEMA = 1
SETTINGS_FILE = "store.json"
SHARD_NAME = re.compile(r"shard-(\d{8,})\.safetensors")


@dataclass(frozen=True)
class StoreSettings:
    """What a row of a store is; all rows of one store share it."""

    # Name, and hash of all that changes embeddings. A model may have two names, so the hash decides.
    encoder: str = field(compare=False)
    fingerprint: str
    dim: int  # width of a row
    rate: int  # sampling rate in Hz of the sound that the encoder takes
    # Its windows in seconds.
    window: float
    hop: float
    row: str  # what a row stands for: ``clip`` or ``window``
    schema: int = SCHEMA  # version of the file format

    @classmethod
    def of(cls, encoder: Encoder, row: str) -> StoreSettings:
        """The settings of a store that this encoder fills."""
        return cls(
            encoder.id,
            encoder.fingerprint,
            int(encoder.dim),
            int(encoder.rate),
            float(encoder.window),
            float(encoder.hop),
            row,
        )

    @classmethod
    def read(cls, document: dict[str, Any], where: Path) -> StoreSettings:
        """The settings as they were written; refuses those of another version."""
        schema = document.get("schema")
        if schema != SCHEMA:
            raise StoreError(
                f"{where} has form {schema}, this version of PRISM reads form {SCHEMA}; use the "
                "version that wrote it, or embed the recordings into a new folder"
            )
        kinds = {name: kind for name, kind in get_type_hints(cls).items() if name != "schema"}
        for name, kind in kinds.items():
            value: Any = document.get(name)
            allowed = (str,) if kind is str else (int, kind)
            if type(value) not in allowed or (kind is not str and not 0 < value < math.inf):
                raise StoreError(
                    f"{where} does not say its {name!r}; embed the recordings into a new folder"
                )
        return cls(**{name: document[name] for name in kinds})

    def differences(self, other: StoreSettings) -> list[str]:
        """Where two settings differ, as text: ``row: window, not clip``."""
        mine, theirs = asdict(self), asdict(other)
        return [
            f"{name}: {mine[name]}, not {theirs[name]}"
            for name in mine
            if mine[name] != theirs[name]
        ]


class Store:
    """The embeddings on disk, read as they are needed.

    ``Store.open(path)`` makes one. Rows come in the order in which they were written: that of the
    sorted paths, then recordings that were added or changed later. ``paths``, ``start``, ``end``
    and ``embeddings()`` follow the same order. ``files`` has every recording the store knows, failed
    ones included, by its relative path.
    """

    def __init__(self, path: Path, settings: StoreSettings, shards: list[Shard]) -> None:
        self.path, self.settings = path, settings
        self._shards = shards
        # Later shards overwrite earlier ones: the last record of a file counts.
        last = {entry.path: i for i, shard in enumerate(shards) for entry in shard.entries}
        self._current = [
            [last[entry.path] == i for entry in shard.entries] for i, shard in enumerate(shards)
        ]
        self.files: dict[str, Entry] = {entry.path: entry for entry in self._entries()}

    @classmethod
    def open(
        cls, path: str | Path, on_damage: Callable[[DamagedShard], None] | None = None
    ) -> Store:
        """Open a store for reading. Every shard is read once, to compare it with its hash.

        ``on_damage`` is called with the error of every damaged shard, which is then left out; by
        default the error is raised.
        """
        folder = Path(path)
        settings = read_settings(folder)
        shards = []
        for file in shard_files(folder):
            try:
                shards.append(read_own_shard(file, settings))
            except DamagedShard as error:
                if on_damage is None:
                    raise
                on_damage(error)
        unhashed = sum(not shard.has_hash for shard in shards)
        if unhashed:
            warnings.warn(
                f"{folder}: {unhashed} of {len(shards)} shards were written by an older version "
                "without a hash; damage to their numbers would not be noticed",
                PrismWarning,
                stacklevel=2,
            )
        return cls(folder, settings, shards)

    def __len__(self) -> int:
        return sum(entry.rows for entry in self._entries())

    def __iter__(self) -> Iterator[Float32]:
        """Shard after shard as an array (N_i, d), mapped from the disk where it can be."""
        return self._arrays("embeddings")

    @property
    def paths(self) -> list[str]:
        """For every row the file it came from, relative to the folder that was embedded."""
        return [entry.path for entry in self._entries() for _ in range(entry.rows)]

    @property
    def start(self) -> NDArray[np.float64]:
        """For every row where in its file it begins, in seconds."""
        return np.concatenate([np.empty(0), *self._arrays("start")])

    @property
    def end(self) -> NDArray[np.float64]:
        """For every row where in its file it ends, in seconds."""
        return np.concatenate([np.empty(0), *self._arrays("end")])

    @property
    def failures(self) -> dict[str, str]:
        """The recordings that could not be embedded, each with its reason."""
        return {path: entry.reason for path, entry in self.files.items() if entry.reason}

    def embeddings(self) -> Float32:
        """All rows (N, d) in memory."""
        nothing = np.empty((0, self.settings.dim), np.float32)
        return np.concatenate([nothing, *self])

    def current_rows(self) -> Iterator[tuple[Shard, NDArray[np.intp]]]:
        """Every shard with the positions of those of its rows that are still valid."""
        for shard, current in zip(self._shards, self._current, strict=True):
            counts = [entry.rows for entry in shard.entries]
            yield shard, np.flatnonzero(np.repeat(current, counts))

    def _entries(self) -> Iterator[Entry]:
        for shard, current in zip(self._shards, self._current, strict=True):
            yield from (entry for entry, keep in zip(shard.entries, current, strict=True) if keep)

    def _arrays(self, name: str) -> Iterator[NDArray[Any]]:
        for shard, places in self.current_rows():
            array = shard.array(name)
            if len(places):
                yield array if len(places) == len(array) else array[places]


def read_own_shard(file: Path, settings: StoreSettings) -> Shard:
    """A shard of a store with these settings."""
    shard = read_shard(file)
    own = StoreSettings.read(shard.settings, file)
    if own != settings:
        raise StoreError(
            f"{file} does not belong to this store ({'; '.join(own.differences(settings))}); move "
            "it elsewhere"
        )
    if shard.header.tensors["embeddings"].shape[1] != settings.dim:
        raise DamagedShard(file, f"its rows do not have {settings.dim} numbers")
    return shard


def read_settings(folder: Path) -> StoreSettings:
    """The settings of the store in ``folder``."""
    return StoreSettings.read(read_description(folder), folder / SETTINGS_FILE)


def read_description(folder: Path) -> dict[str, Any]:
    """The content of ``store.json``: the settings, and the folder whose recordings it holds."""
    file = folder / SETTINGS_FILE
    try:
        with file.open("rb") as handle:
            document = parse_json(handle.read(MAX_HEADER))
    except FileNotFoundError:
        raise StoreError(
            f"{folder} holds no embeddings (there is no {SETTINGS_FILE}); make them with "
            "'prism embed RECORDINGS -o STORE', and name STORE here"
        ) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {file}: {error}; embed into a new folder") from error
    if not isinstance(document, dict) or not isinstance(document.get("source", ""), str):
        raise StoreError(f"{file} is not the description of a store; embed into a new folder")
    return document


def shard_files(folder: Path) -> list[Path]:
    """The shards in the order in which they were written."""
    return sorted(file for file in folder.iterdir() if SHARD_NAME.fullmatch(file.name))

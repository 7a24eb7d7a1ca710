"""Embeddings of a folder of any size on disk.

A store is a folder: ``store.json`` says which encoder filled it and what a row stands for, and
numbered shards hold the rows. Shards are only ever added. What a later shard tells of a file
replaces what an earlier one told, so a recording that changed leaves its old row behind and readers
do not see it. :mod:`prism_audio.store.update` fills a store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.encoders.protocol import Encoder
from prism_audio.io.types import Float32
from prism_audio.store.shards import Entry, Shard, StoreError, read_shard

SCHEMA = 1
SETTINGS_FILE = "store.json"


@dataclass(frozen=True)
class StoreSettings:
    """All that decides what a row is; the rows of one store share it.

    Attributes
    ----------
    encoder, fingerprint : str
        The encoder's name, and the hash of all that changes its embeddings.
    dim : int
        Width of a row.
    rate : int
        Sampling rate in Hz at which the encoder heard the sound.
    window, hop : float
        Its windows in seconds.
    row : str
        What a row stands for: ``clip`` or ``window``.
    schema : int
        Version of the form of the files.
    """

    encoder: str = field(compare=False)  # the fingerprint decides; a model may have two names
    fingerprint: str
    dim: int
    rate: int
    window: float
    hop: float
    row: str
    schema: int = SCHEMA

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
    def read(cls, found: dict[str, Any], where: Path) -> StoreSettings:
        """The settings as they were written; refuses those of another version."""
        schema = found.get("schema")
        if schema != SCHEMA:
            raise StoreError(
                f"{where} has form {schema}, this version of PRISM reads form {SCHEMA}; use the "
                "version that wrote it, or embed the recordings into a new folder"
            )
        try:
            return cls(**{name: found[name] for name in cls.__dataclass_fields__})
        except KeyError as error:
            raise StoreError(
                f"{where} does not say its {error}; embed the recordings into a new folder"
            ) from error

    def differences(self, other: StoreSettings) -> list[str]:
        """Where two settings differ, in words: ``row: window, not clip``."""
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
    and ``embeddings()`` follow the same order.

    Attributes
    ----------
    path : Path
        The folder.
    settings : StoreSettings
        Encoder, width, what a row stands for.
    files : dict of str to Entry
        Every recording the store knows, failed ones included, by its relative path.
    """

    def __init__(self, path: Path, settings: StoreSettings, shards: list[Shard]) -> None:
        self.path, self.settings = path, settings
        self._shards = shards
        # Later shards overwrite earlier ones: the last word on a file is the one that counts.
        last = {entry.path: i for i, shard in enumerate(shards) for entry in shard.entries}
        self._current = [
            [last[entry.path] == i for entry in shard.entries] for i, shard in enumerate(shards)
        ]
        self.files: dict[str, Entry] = {entry.path: entry for entry in self._entries()}

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open a store for reading; only headers are read.

        Raises
        ------
        StoreError
            If it is not a store, a shard is damaged, or a shard came from another encoder.
        """
        folder = Path(path)
        settings = read_settings(folder)
        shards = [read_shard(file) for file in shard_files(folder)]
        for shard in shards:
            found = StoreSettings.read(shard.settings, shard.path)
            if found != settings:
                raise StoreError(
                    f"{shard.path} does not belong to this store ("
                    f"{'; '.join(found.differences(settings))}); move it elsewhere"
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
        """Every shard with the places of those of its rows that still count."""
        for shard, current in zip(self._shards, self._current, strict=True):
            counts = [entry.rows for entry in shard.entries]
            yield shard, np.flatnonzero(np.repeat(current, counts))

    def _entries(self) -> Iterator[Entry]:
        for shard, current in zip(self._shards, self._current, strict=True):
            yield from (entry for entry, keep in zip(shard.entries, current, strict=True) if keep)

    def _arrays(self, name: str) -> Iterator[NDArray[Any]]:
        for shard, current in zip(self._shards, self._current, strict=True):
            array = shard.array(name)
            if not all(current):
                array = array[np.repeat(current, [entry.rows for entry in shard.entries])]
            if len(array):
                yield array


def read_settings(folder: Path) -> StoreSettings:
    """The settings of the store in ``folder``."""
    return StoreSettings.read(read_description(folder), folder / SETTINGS_FILE)


def read_description(folder: Path) -> dict[str, Any]:
    """What ``store.json`` says: the settings, and the folder whose recordings it holds."""
    file = folder / SETTINGS_FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(
            f"{folder} holds no embeddings (there is no {SETTINGS_FILE}); make them with "
            f"'prism embed FOLDER -o {folder}'"
        ) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {file}: {error}; embed into a new folder") from error
    if not isinstance(found, dict):
        raise StoreError(f"{file} is not the description of a store; embed into a new folder")
    return found


def shard_files(folder: Path) -> list[Path]:
    """The shards in the order in which they were written."""
    return sorted(folder.glob("shard-*.safetensors"))

"""Add to a store: one process at a time, and what is written is whole."""

from __future__ import annotations

import json
import os
import re
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import StoreError
from prism_audio.io.atomic import TEMPORARY
from prism_audio.io.locks import Locked, exclusive
from prism_audio.io.types import Float32
from prism_audio.store.shards import DamagedShard, Entry, fitting, write_file, write_shard
from prism_audio.store.store import (
    SETTINGS_FILE,
    Store,
    StoreSettings,
    read_description,
    shard_files,
)

LOCK_FILE = ".lock"


class StoreWriter:
    """A store held for writing; use it in a ``with`` statement.

    On entering, the folder is made if it is not there, what a killed run left unfinished is
    removed, and every other writer is kept out until the ``with`` ends or the process dies. The folder
    is new, empty, or a store with the same settings, of recordings in the same ``source``: a store
    holds one folder, and paths are relative to it.
    """

    store: Store  # as it was when writing began

    def __init__(self, path: Path, settings: StoreSettings, source: Path) -> None:
        self.path, self.settings, self.source = path, settings, source.resolve()
        self.damaged: list[str] = []  # shards, each with what was done about it
        self._lock = ExitStack()
        self._number = 0

    def __enter__(self) -> Self:
        _make_folder(self.path)
        with ExitStack() as held:
            try:
                held.enter_context(exclusive(self.path / LOCK_FILE, wait=False))
            except Locked:
                raise StoreError(
                    f"another process is writing to {self.path}; wait for it, or give another "
                    "output folder"
                ) from None
            except OSError as error:
                raise StoreError(
                    f"cannot write in {self.path}: {error.strerror or error}"
                ) from error
            for leftover in self.path.glob(f".*{TEMPORARY}"):
                leftover.unlink(missing_ok=True)
            self._agree()
            self.store = Store.open(self.path, self._put_aside)
            written = shard_files(self.path)
            self._number = int(written[-1].stem.removeprefix("shard-")) if written else 0
            self._lock = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def append(
        self,
        entries: list[Entry],
        embeddings: Float32,
        start: NDArray[np.float64],
        end: NDArray[np.float64],
    ) -> None:
        """Add a shard, or several if the list of files is long; on return they are on the disk."""
        first = 0
        for group in fitting(entries):
            self._number += 1
            path = self.path / f"shard-{self._number:08d}.safetensors"
            last = first + sum(entry.rows for entry in group)
            rows = slice(first, last)
            write_shard(
                path, asdict(self.settings), group, embeddings[rows], start[rows], end[rows]
            )
            first = last

    def _put_aside(self, error: DamagedShard) -> None:
        """Rename a damaged shard, so that readers do not see it and its recordings are done again."""
        name = error.path.name
        try:
            error.path.replace(error.path.with_name(f"damaged-{name}"))
        except OSError as denied:
            raise StoreError(f"cannot rename {error.path}: {denied.strerror or denied}") from None
        self.damaged.append(
            f"{name} was damaged ({error.reason}); it is now called damaged-{name}, and its "
            "recordings are embedded again"
        )

    def _agree(self) -> None:
        """Check against ``store.json``, or write it, that these rows belong into this folder."""
        if (self.path / SETTINGS_FILE).exists():
            description = read_description(self.path)
            self._refuse_other_settings(StoreSettings.read(description, self.path / SETTINGS_FILE))
            source = Path(description.get("source", self.source))
            if source == self.source:
                return
            # A folder that is gone was moved; one that is still there is another folder.
            if source.is_dir():
                raise StoreError(
                    f"{self.path} holds the embeddings of {source}, not of {self.source}; give "
                    "this folder another output, or embed the folder that contains both"
                )
        description = {**asdict(self.settings), "source": str(self.source)}
        text = json.dumps(description, indent=2) + "\n"
        write_file(self.path / SETTINGS_FILE, text.encode())

    def _refuse_other_settings(self, found: StoreSettings) -> None:
        if found != self.settings:
            raise StoreError(
                f"{self.path} was made with other settings than were asked for now ("
                f"{'; '.join(found.differences(self.settings))}); ask for the same, or give "
                "another output folder"
            )


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        ours = re.compile(rf"\.lock|\..*{re.escape(TEMPORARY)}")
        foreign = [name for name in os.listdir(path) if not ours.fullmatch(name)]
    except OSError as error:
        raise StoreError(
            f"cannot use {path} as an output folder: {error.strerror or error}; give another one"
        ) from error
    if foreign and SETTINGS_FILE not in foreign:
        raise StoreError(
            f"{path} is neither empty nor a store of embeddings (it holds {foreign[0]}); "
            "give a new folder"
        )

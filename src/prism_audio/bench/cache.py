"""What the bench computed before, on disk: found again by a hash of everything it depends on.

Facts are plain JSON. Two runs with the same facts share a file; a change in any of them makes
another. Nothing is ever changed in place, so a run can be stopped at any instant.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.io.cache import user_cache

Facts = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

# Files up to this size are hashed whole; longer ones at their beginning, middle and end.
_WHOLE = 1 << 20
_PIECE = 1 << 16


def default_cache() -> Path:
    """``$PRISM_CACHE/bench``, or the bench's part of the user's cache folder."""
    return user_cache("bench")


def digest(facts: Any) -> str:
    """Hash of facts that JSON can hold, whatever the order of their keys."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def array_digest(array: NDArray[Any]) -> str:
    """Hash of an array's numbers, shape and type."""
    tidy = np.ascontiguousarray(array)
    about = f"{tidy.dtype.str}{tidy.shape}".encode()
    return hashlib.sha256(about + tidy.tobytes()).hexdigest()


def file_digest(path: Path) -> str:
    """Hash of a file: all of it up to 1 MiB; of a longer one its size and three pieces.

    A dataset of 40 GB would otherwise have to be read to learn that there is nothing to do.
    """
    size = path.stat().st_size
    state = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        if size <= _WHOLE:
            state.update(file.read())
        else:
            for start in (0, (size - _PIECE) // 2, size - _PIECE):
                file.seek(start)
                state.update(file.read(_PIECE))
    return state.hexdigest()


class Cache:
    """A folder of results. ``save`` and ``load`` are for arrays, ``write`` and ``read`` for JSON."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder else default_cache()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrismError(
                f"the cache {self.folder} cannot be made ({error.strerror or error}); "
                "choose another place with --cache"
            ) from error

    def path(self, room: str, name: str, facts: Facts, suffix: str) -> Path:
        """Where that result is or will be; the name is for people, the hash for finding it."""
        return self.folder / room / f"{name}-{digest(facts)[:16]}{suffix}"

    def load(self, room: str, name: str, facts: Facts) -> Arrays | None:
        """The arrays kept under these facts, or nothing."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self.path(room, name, facts, ".safetensors")
        if not path.is_file():
            return None
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise PrismError(f"{path} is damaged ({error}); delete it and run again") from error

    def save(self, room: str, name: str, facts: Facts, arrays: Arrays) -> Path:
        """Keep arrays with the facts they came from."""
        from safetensors.numpy import save

        path = self.path(room, name, facts, ".safetensors")
        path.parent.mkdir(exist_ok=True)
        told = {"facts": json.dumps(facts, sort_keys=True)}
        tidy = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
        with atomic_write(path) as file:
            file.write(save(tidy, told))
        return path

    def read(self, room: str, name: str, facts: Facts) -> Any | None:
        """The document kept under these facts, or nothing."""
        path = self.path(room, name, facts, ".json")
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))["result"]
        except (ValueError, KeyError, OSError) as error:
            raise PrismError(f"{path} is damaged ({error}); delete it and run again") from error

    def write(self, room: str, name: str, facts: Facts, result: Any) -> None:
        """Keep a document with the facts it came from."""
        path = self.path(room, name, facts, ".json")
        path.parent.mkdir(exist_ok=True)
        text = json.dumps({"facts": facts, "result": result}, sort_keys=True, allow_nan=False)
        with atomic_write(path) as file:
            file.write(text.encode())

"""Disk cache of computed arrays, keyed by a hash of everything they depend on.

Facts are plain JSON. Runs with the same facts share a file; a change in any fact makes another file.
No file is changed in place, so a run can be stopped at any time.
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
    """``$PRISM_CACHE/bench``, or a folder in the user's cache."""
    return user_cache("bench")


def digest(facts: Any) -> str:
    """Hash of facts as JSON, independent of the order of their keys."""
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
    """A folder of computed arrays."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder else default_cache()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrismError(
                f"the cache {self.folder} cannot be made ({error.strerror or error}); "
                "choose another place with --cache"
            ) from error

    def path(self, room: str, name: str, facts: Facts) -> Path:
        """The file of a result; the name is for people, the hash identifies it."""
        return self.folder / room / f"{name}-{digest(facts)[:16]}.safetensors"

    def load(self, room: str, name: str, facts: Facts) -> Arrays | None:
        """The arrays saved under these facts, if any."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self.path(room, name, facts)
        if not path.is_file():
            return None
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise PrismError(f"{path} is damaged ({error}); delete it and run again") from error

    def save(self, room: str, name: str, facts: Facts, arrays: Arrays) -> None:
        """Save arrays together with the facts they depend on."""
        from safetensors.numpy import save

        path = self.path(room, name, facts)
        path.parent.mkdir(exist_ok=True)
        tidy = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
        with atomic_write(path) as file:
            file.write(save(tidy, {"facts": json.dumps(facts, sort_keys=True)}))

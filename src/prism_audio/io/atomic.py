"""Writing files so that a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from prism_audio.errors import PrismError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes the name ``path`` only when all of it is on the disk.

    It is written under a temporary name in the same folder; on any error that file is removed and
    whatever had the name before is still there.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"
        )
    except OSError as error:
        raise PrismError(
            f"cannot write {target}: {error.strerror or error}; choose another place"
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; the result gets the permissions any new file would.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        raise PrismError(f"cannot write {target}: {error.strerror or error}") from None
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)

"""Write files so that a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from typing import BinaryIO

from prism_audio.errors import PrismError

# How the names of unfinished files end; a crash may leave some behind.
TEMPORARY = ".tmp"


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes the name ``path`` only when all of it is on the disk.

    It is written under a temporary name in the same folder; on any error that file is removed and
    whatever had the name before is still there.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name}.{token_hex(4)}{TEMPORARY}"
    try:
        file = temporary.open("xb")
    except OSError as error:
        raise PrismError(
            f"cannot write {target}: {error.strerror or error}; choose another place"
        ) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise PrismError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder that takes the name ``path`` when the block has ended without an error."""
    target = Path(path)
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise PrismError(f"cannot write {target}: it exists; name a new folder or remove it")
        made = Path(mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY))
    except OSError as error:
        raise PrismError(f"cannot write {target}: {error.strerror or error}") from None
    try:
        yield made
        made.chmod(0o755)
        made.replace(target)
    except OSError as error:
        raise PrismError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk, too: it must outlive a loss of power."""
    with suppress(OSError):  # not every system can; the file itself is on the disk
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

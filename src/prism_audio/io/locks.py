"""Locks between processes: a file that one of them holds; the system frees it when that one dies."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Locked(Exception):
    """Another process holds the lock."""


@contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock file ``path`` within a ``with`` statement; the file stays behind.

    Raises
    ------
    Locked
        With ``wait=False``, when another process holds it.
    OSError
        When the file cannot be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise Locked(str(path)) from None
    except OSError as error:
        # Some network file systems know no locks; they lose the guard, not the use.
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
            raise
    try:
        yield
    finally:
        lock.release()

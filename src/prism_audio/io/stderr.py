"""Hiding what native code prints past Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_stderr() -> Iterator[None]:
    """Nothing reaches standard error: what a runtime prints when it starts cannot be turned off."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error to hide it from
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)

"""Hide what native code prints to standard error, bypassing Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_stderr() -> Iterator[None]:
    """Discard standard error, for a runtime whose start-up messages cannot be turned off."""
    try:
        saved = os.dup(2)
    except OSError:  # there is no standard error to hide it from
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)

"""What every test needs: Ctrl-C that works."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _interrupts() -> Iterator[None]:
    """Take SIGINT as usual, also where the run is in the background and a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

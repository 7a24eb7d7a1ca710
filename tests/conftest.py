"""What every test needs: Ctrl-C that works, and an order that keeps two processes busy to the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

# Folders whose files take long each: they come first, so that none of them is left over at the end.
LONG = ("out_of_core", "cli", "serve", "bench")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the folders with long tests first; the order within a file stays."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONG)}
    items.sort(
        key=lambda item: min((places.get(p, len(LONG)) for p in item.path.parents), default=0)
    )


@pytest.fixture(scope="session", autouse=True)
def _interrupts() -> Iterator[None]:
    """Take SIGINT as usual, also where the run is in the background and a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

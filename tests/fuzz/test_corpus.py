"""Inputs that once raised something else than a PrismError, and a short look for new ones."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="the requests need the extra serve")
pytest.importorskip("matplotlib", reason="experiments need the extra bench")

from tests.fuzz.run import CORPUS, fuzz, use
from tests.fuzz.targets import TARGETS

# Too long to keep as files.
LONG = {
    "labels": [b"a" * 140_000, b'label\n"' + b"a" * 140_000],
    "table": [b"file\n" + b"a" * 140_000],
}
KEPT = [
    *((path.parent.name, path.read_bytes()) for path in sorted(CORPUS.glob("*/*"))),
    *((name, data) for name, inputs in LONG.items() for data in inputs),
]


@pytest.mark.parametrize(("name", "data"), KEPT, ids=lambda x: x if isinstance(x, str) else "")
def test_what_was_found_stays_mended(name: str, data: bytes) -> None:
    use(TARGETS[name], data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_second_finds_nothing_new(name: str) -> None:
    tried, data = fuzz(TARGETS[name], seconds=1)
    assert tried
    assert data is None, data

"""A real browser before a real service; a page that complains fails its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.bands import recordings, tone, write
from tests.helpers.processes import Served

playwright_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from tests.helpers.browser import installed, launch, opened  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Calibrations run in a process of their own at low priority, which a busy machine lets wait.
playwright_api.expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 recordings of three classes in a street that hums, and a note that is no sound."""
    dropped = tmp_path_factory.mktemp("dropped")
    street = recordings(dropped / "street", each=16, seconds=1.0, hum=1.5)
    (street / "notes.txt").write_text("recorded on a Monday")
    return street


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that only calls itself a recording."""
    path = tmp_path_factory.mktemp("broken") / "broken.wav"
    path.write_bytes(b"this is no sound" * 20)
    return path


# For each module and not longer: while Playwright runs, nothing else in this thread can start an
# event loop.
@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, whose microphone hears a tone of the seventh band."""
    if installed() is None:
        pytest.skip("needs Chromium, as in Debian's package chromium")
    heard = write(tmp_path_factory.mktemp("heard") / "tone.wav", tone(7, 10, 1))
    with playwright_api.sync_playwright() as playwright:
        running = launch(playwright, heard)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open the page of a service; options are those of a browser context."""
    complaints: list[str] = []
    contexts = []

    def start(url: str, **options: Any) -> Page:
        page = opened(browser, url, complaints, **options)
        contexts.append(page.context)
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page: Callable[..., Page], served: Served) -> Page:
    """The page, in a window of 1280 by 900, when it knows its site."""
    page = open_page(served.url)
    playwright_api.expect(page.locator("#labels")).not_to_have_value("")
    return page

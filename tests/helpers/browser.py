"""The system's Chromium, and what a person does in it that Playwright has no word for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


def installed() -> str | None:
    """Where the system's browser is."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(playwright: Playwright, microphone: Path) -> Browser:
    """Start it; its microphone hears a sound file again and again."""
    heard = f"--use-file-for-fake-audio-capture={microphone}"
    return playwright.chromium.launch(executable_path=installed(), args=[*FLAGS, heard])


def opened(browser: Browser, url: str, complaints: list[str], **options: Any) -> Page:
    """A page in a window of its own; what it says on the console goes into ``complaints``."""

    def said(message: ConsoleMessage) -> None:
        # The browser itself notes every request that the service refuses, as it should.
        if not message.text.startswith("Failed to load") or "/v1/" not in message.location["url"]:
            complaints.append(message.text)

    options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
    page = browser.new_context(permissions=["microphone"], **options).new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", said)
    page.goto(url)
    return page


def drop(page: Page, paths: Iterable[Path]) -> None:
    """Drag files or folders from the desktop onto the page, as the browser itself would report it."""
    page.evaluate("() => scrollTo(0, 0)")
    box = page.locator("#drop").bounding_box()
    assert box is not None
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": box["x"] + 20, "y": box["y"] + 20, "data": data}
        session.send("Input.dispatchDragEvent", event)
    session.detach()


def settled(page: Page, labelled: int) -> None:
    """Wait until so many recordings have their labels."""
    try:
        expect(page.locator("#summary")).to_contain_text(f"{labelled:,} recording")
    except AssertionError as error:
        reasons = page.locator(".clip-error").all_inner_texts()
        raise AssertionError(f"{error}\nrecordings that failed: {reasons}") from None
    expect(page.locator("#work")).to_be_hidden()


def calibrate(page: Page, name: str) -> None:
    """Calibrate on all recordings, and wait for the report and the new labels."""
    page.get_by_label("Name of the site").fill(name)
    page.get_by_role("button", name="Calibrate on").click()
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.locator("#work")).to_be_hidden()


def rows(page: Page) -> dict[str, str]:
    """The last label beside every recording in the list."""
    texts = page.locator("#list li").evaluate_all(
        "items => items.map((item) => [item.querySelector('.clip-name').textContent,"
        " [...item.querySelectorAll('.tag')].at(-1)?.textContent ?? ''])"
    )
    return dict(texts)


def eventually(page: Page, holds: Callable[[], bool]) -> None:
    """Wait up to ten seconds until a condition of the page holds."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(100)
    assert holds()

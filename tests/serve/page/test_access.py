"""The page for everybody: by keyboard, on a phone, in the dark, without motion, read aloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.helpers.browser import calibrate, drop, opened, rows, settled
from tests.helpers.page_scripts import FAINT, SIDEWAYS, UNNAMED
from tests.helpers.processes import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The accessibility checker; .ci/run puts it there.
AXE = Path(__file__).parents[3] / "build/node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="module")
def full(browser: Browser, served: Served, folder: Path, broken: Path) -> Iterator[Page]:
    """The page after everything was done on it; tests change its window and theme alone."""
    complaints: list[str] = []
    page = opened(browser, served.url, complaints)
    expect(page.locator("#labels")).not_to_have_value("")
    drop(page, [folder, broken])
    settled(page, 48)
    calibrate(page, "full")
    page.get_by_role("button", name="Use the microphone").click()
    expect(page.locator("#live-now .tag")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_label("Search by words").fill("tone 12")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#list .clip-name").first).to_contain_text("12-")
    page.locator("summary").click()
    page.get_by_role("button", name="Start listening").click()
    page.get_by_role("button", name="Right").click()
    expect(page.locator("#check-estimates")).to_contain_text("From 1 label")
    yield page
    page.context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(full: Page, scheme: str) -> None:
    full.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    assert full.evaluate(FAINT) == []


def test_contrast_is_measured(full: Page) -> None:
    """The measure must find what is faint, or the test above says nothing."""
    full.emulate_media(color_scheme="light")
    full.evaluate("() => document.querySelector('#sounds h2').style.setProperty('color', '#bbb')")
    assert len(full.evaluate(FAINT)) == 1
    full.evaluate("() => document.querySelector('#sounds h2').style.removeProperty('color')")


def test_everything_has_a_name(full: Page) -> None:
    assert full.evaluate(UNNAMED) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_no_violation(full: Page, scheme: str, width: int) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core: npm install --prefix build --no-save axe-core@4")
    full.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    full.set_viewport_size({"width": width, "height": 740})
    full.evaluate(AXE.read_text())
    violations = full.evaluate("async () => (await axe.run()).violations")
    found = [(v["id"], [node["html"] for node in v["nodes"]]) for v in violations]
    full.set_viewport_size({"width": 1280, "height": 900})
    assert found == []


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_sticks_out(full: Page, width: int) -> None:
    full.set_viewport_size({"width": width, "height": 740})
    assert full.evaluate(SIDEWAYS) == 0
    full.set_viewport_size({"width": 1280, "height": 900})


def test_view_moves_from_zero_shot_to_adapted(full: Page) -> None:
    slider = full.get_by_role("slider", name="From zero-shot to adapted")
    expect(slider).to_have_value("1")  # at once: this window asks for less motion
    pictures = []
    for end in ("0", "1", "0", "1"):
        full.get_by_role("button", name="Play the move").click()
        expect(slider).to_have_value(end)
        pictures.append(full.evaluate("() => document.querySelector('.cloud').toDataURL()"))
    assert pictures[:2] == pictures[2:]
    assert pictures[0] != pictures[1]


def test_by_keyboard_alone(page: Page, folder: Path) -> None:
    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            if name in (focused.get_attribute("id"), focused.text_content()):
                # What has the focus must show it.
                style = "(element) => getComputedStyle(element).outlineStyle"
                assert focused.evaluate(style) == "solid"
                return
        raise AssertionError(f"the keyboard does not reach {name}")

    # From the start: the browser takes a moment until it hands its choosers over.
    with page.expect_file_chooser() as chooser:
        tab_to("Skip to the page")
        tab_to("pick-files")
        page.keyboard.press("Enter")
    chooser.value.set_files(sorted(folder.glob("*.wav"))[::4])
    settled(page, 12)
    tab_to("labels")
    page.keyboard.press("Control+A")
    page.keyboard.type("tone 2, tone 7, tone 12, tone 14")
    expect(page.locator("#labels-state")).to_have_text("4 labels in use")
    tab_to("list")
    first = page.locator("#detail h3").text_content()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#detail h3")).not_to_have_text(str(first))
    page.keyboard.press("Delete")
    assert len(rows(page)) == 11
    tab_to("Play")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    tab_to("place")
    page.keyboard.press("Control+A")
    page.keyboard.type("keys")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.locator("#report")).to_be_focused()
    tab_to("save-adapter")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "keys.safetensors"

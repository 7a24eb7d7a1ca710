"""Check by ear in a real browser: keys, estimates, labels that stay, export and import."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.processes import Served

playwright_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from tests.helpers.browser import calibrate, drop, settled  # noqa: E402
from tests.helpers.page_scripts import FAINT, SIDEWAYS, UNNAMED  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = playwright_api.expect
# The keys of the labels of the usual site, by the name of a recording.
KEYS = {"02": "1", "07": "2", "12": "3"}


def begin(page: Page, folder: Path, site: str) -> None:
    """Drop a folder, calibrate a new site on it, and start listening."""
    drop(page, [folder])
    settled(page, 48)
    calibrate(page, site)
    settled(page, 48)
    page.get_by_role("button", name="Start listening").click()
    expect(page.locator("#check-count")).to_contain_text("Clip 1 of 48")


def hear(page: Page, number: int) -> None:
    """Label the clip that is shown by its key, and wait for the next."""
    name = page.locator("#check-name").inner_text().split("/")[-1]
    page.keyboard.press(KEYS[name[:2]])
    expect(page.locator("#check-count")).to_contain_text(f"{number} label")
    expect(page.locator("#check-estimates")).to_contain_text(f"From {number} label")


def bounds(page: Page) -> tuple[float, float]:
    """The interval of the adapted accuracy as the page says it, in percent."""
    text = page.locator(".gauge").nth(1).inner_text()
    found = re.search(r"(\d+) % right, (\d+) % to (\d+) %", text)
    assert found, text
    room, band = (page.locator(one).nth(1).bounding_box() for one in (".gauge-room", ".band"))
    assert room
    assert band
    assert 100 * (band["x"] - room["x"]) / room["width"] == pytest.approx(float(found[2]), abs=1)
    return float(found[2]), float(found[3])


def test_labels_by_the_keyboard(page: Page, folder: Path, tmp_path: Path) -> None:
    begin(page, folder, "ears")
    expect(page.locator("#check-use")).to_be_disabled()
    widths = []
    for number in range(1, 9):
        hear(page, number)
        low, high = bounds(page)
        widths.append(high - low)
    assert widths[-1] < widths[0]
    expect(page.locator("#check-verdict")).not_to_be_empty()

    expect(page.locator("#check-player button")).to_have_text("Pause")  # the next one plays
    page.keyboard.press(" ")
    expect(page.locator("#check-player button")).to_have_text("Play")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#check-count")).to_contain_text("Clip 8 of 48")
    expect(page.locator("#check-said")).to_contain_text("you say")
    page.keyboard.press("Delete")
    expect(page.locator("#check-count")).to_contain_text("7 labels")
    page.keyboard.press("Enter")
    expect(page.locator("#check-count")).to_contain_text("8 labels")
    page.keyboard.press("0")
    expect(page.locator("#check-count")).to_contain_text("9 labels")

    with page.expect_download() as download:
        page.get_by_role("button", name="Labels as CSV").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    with saved.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 48
    assert [bool(line["label"]) for line in lines] == [True] * 9 + [False] * 39
    assert lines[8]["label"] == "other"
    assert all(Path(line["file"]).name[:2] in KEYS for line in lines)

    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove the labels").click()
    expect(page.locator("#check-estimates")).to_be_hidden()
    page.locator("#check-file").set_input_files(saved)
    expect(page.locator("#check-done")).to_contain_text("48 of 48 lines")
    expect(page.locator("#check-estimates")).to_contain_text("From 9 labels")

    with page.expect_response(lambda response: "/v1/calibrate" in response.url) as asked:
        page.get_by_role("button", name="Use these labels").click()
    assert asked.value.status == 202
    assert "labelled=true" in asked.value.url
    expect(page.locator("#job")).to_be_hidden()
    expect(page.locator("#job-error")).to_be_hidden()
    page.get_by_role("button", name="Manage").click()
    expect(page.locator("#site-versions li.used")).to_contain_text("Version 2")


def test_labels_stay_with_the_site(
    page: Page, open_page: Callable[..., Page], served: Served, folder: Path
) -> None:
    begin(page, folder, "stay")
    for number in (1, 2, 3):
        hear(page, number)
    again = open_page(served.url)
    expect(again.locator("#labels")).not_to_have_value("")
    again.locator("#site").select_option("stay")
    drop(again, [folder])
    settled(again, 48)
    expect(again.locator("#check-estimates")).to_contain_text("From 3 labels")
    expect(again.locator("#check-estimates")).to_be_visible()
    again.get_by_role("button", name="Start listening").click()
    expect(again.locator("#check-count")).to_contain_text("Clip 4 of 48, 3 labels")
    again.get_by_label("What to listen for").fill("tone 3, tone 4")
    expect(again.locator("#check")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(
    open_page: Callable[..., Page], served: Served, folder: Path, scheme: str
) -> None:
    page = open_page(served.url, color_scheme=scheme, viewport={"width": 390, "height": 800})
    begin(page, folder, f"all-{scheme}")
    hear(page, 1)
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(FAINT) == []
    assert page.evaluate(SIDEWAYS) <= 0


def test_search(page: Page, folder: Path) -> None:
    drop(page, [folder])
    settled(page, 48)
    page.get_by_label("Search by words").fill("tone 12")
    page.get_by_role("button", name="Search").click()
    names = page.locator("#list .clip-name")
    expect(names.first).to_contain_text("12-")
    expect(page.locator("#detail h3")).to_contain_text("12-")
    page.locator("#order").select_option("given")
    names.filter(has_text="02-07").click()
    page.get_by_role("button", name="Find similar").click()
    expect(names.first).to_contain_text("02-07")
    assert all("/02-" in name for name in names.all_inner_texts()[:5])

"""A recording of hours on the page: sending, events, a timeline at any zoom, files of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.cli.conftest import Prism
from tests.helpers.bands import RATE, tone, write
from tests.helpers.browser import calibrate, drop, settled
from tests.helpers.processes import Served

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def patient(prism: Prism, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that takes recordings of hours."""
    with Served(prism, "--store", tmp_path_factory.mktemp("store")) as running:
        yield running


def long_recording(path: Path, minutes: int) -> Path:
    """One tone, with a short call of another every two minutes."""
    sound = np.tile(0.2 * tone(2, 60, 1), minutes)
    for at in range(30, 60 * minutes, 120):
        sound[at * RATE : (at + 4) * RATE] += 0.3 * tone(12, 4.0, at)
    return write(path, sound)


def in_view(page: Page) -> list[float]:
    """The seconds of the recording that can be seen."""
    share = page.locator(".scroller").evaluate(
        "e => [e.scrollLeft, e.scrollLeft + e.clientWidth].map((x) => x / e.scrollWidth)"
    )
    seconds = float(page.get_by_label("Position").get_attribute("max") or 0)
    return [seconds * at for at in share]


@pytest.mark.parametrize("minutes", [16, pytest.param(120, marks=pytest.mark.slow)])
def test_a_recording_of_hours_can_be_read(
    open_page: OpenPage, patient: Served, tmp_path: Path, minutes: int
) -> None:
    page = open_page(patient.url)
    expect(page.locator("#labels")).not_to_have_value("")
    expect(page.locator("#formats")).to_contain_text("up to 6 hours")
    drop(page, [long_recording(tmp_path / "hours.wav", minutes)])
    page.wait_for_function("() => document.querySelector('#work:not([hidden])')")
    settled(page, 1)
    listed = page.locator("#list li .note")
    expect(listed).to_contain_text(f"{minutes // 2} events in")

    events = page.locator("#timeline .piece.event")
    expect(events).to_have_count(minutes // 2)
    # Found and measured in one step: the lanes are drawn anew once the sound is decoded, and an
    # element that was found before that has no width any more.
    narrow = page.evaluate(
        "() => Math.min(...[...document.querySelectorAll('#timeline .piece.event')]"
        ".map((e) => e.getBoundingClientRect().width))"
    )
    assert narrow >= 4  # an event of four seconds can be seen among hours
    expect(page.locator(".lane-note")).to_have_text("Zoom in to see every window.")
    assert page.locator(".piece").count() < 1000

    rows = page.get_by_role("region", name="Events").locator("tbody tr")
    expect(rows).to_have_count(minutes // 2)
    rows.nth(3).get_by_role("button").click()
    expect(page.locator(".lane-note")).to_have_count(0)
    wide = (
        "() => document.querySelector('#timeline .piece.event')?.getBoundingClientRect().width > 40"
    )
    page.wait_for_function(wide)
    # The fourth event, at 6:30, is in the middle of half a minute.
    assert in_view(page) == pytest.approx((392 - 15, 392 + 15), abs=1)
    rows.last.get_by_role("button").click()
    middle = 60 * minutes - 90 + 2
    page.wait_for_timeout(300)  # nothing may scroll away afterwards
    assert in_view(page) == pytest.approx((middle - 15, middle + 15), abs=1)
    assert page.locator("#timeline .piece").count() < 1000
    expect(page.get_by_label("Position")).not_to_have_value("0")
    page.get_by_label("Zoom").fill("0")
    expect(events).to_have_count(minutes // 2)
    events.nth(3).click()
    assert float(page.get_by_label("Position").input_value()) == pytest.approx(392, abs=minutes)

    page.get_by_label("Events for").select_option("audacity")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save events").click()
    assert download.value.suggested_filename == "hours.txt"
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == minutes // 2
    assert all(line.endswith("\ttone 12") for line in lines)
    calibrate(page, "hours")
    expect(page.locator(".verdict")).to_be_visible()


def test_background_words_and_what_is_cut_short(
    open_page: OpenPage, patient: Served, tmp_path: Path
) -> None:
    page = open_page(patient.url)
    expect(page.locator("#labels")).not_to_have_value("")
    whole = write(tmp_path / "whole.wav", tone(12, 2, 1))
    cut = tmp_path / "cut.wav"
    cut.write_bytes(write(tmp_path / "x.wav", tone(7, 2, 2)).read_bytes()[:20_000])
    kinds: list[str] = []
    page.on(
        "request", lambda r: "/v1/classify" in r.url and kinds.append(r.headers["content-type"])
    )
    drop(page, [whole, cut])
    settled(page, 2)
    expect(page.get_by_role("option", name="cut.wav").locator(".warning")).to_contain_text(
        "Cut short"
    )
    tag = page.get_by_role("option", name="whole.wav").locator(".tag")
    expect(tag).to_have_text("tone 12")
    page.get_by_label("What to listen for").fill("tone 2, tone 7")
    page.get_by_label("Background words").fill("tone 12")
    expect(tag.last).to_have_text("background")
    # The sound of both travelled once, and from then on their ids alone.
    assert [kind.partition(";")[0] for kind in kinds[:2]] == [
        "multipart/form-data",
        "application/json",
    ]
    assert sum("multipart" in kind for kind in kinds) == 1
    page.get_by_role("button", name="Use the site's own").click()
    expect(tag.last).to_have_text("tone 12")
    expect(page.get_by_label("Background words")).to_have_value("")

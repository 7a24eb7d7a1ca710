"""Versions of a site on the page, and what is sent for a change of labels."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.helpers.bands import recordings, tone, write
from tests.helpers.browser import calibrate, drop, eventually, rows, settled


def bodies(page: Page) -> list[str]:
    """The types of all bodies that are sent from now on."""
    sent: list[str] = []
    page.on(
        "request",
        lambda request: request.method == "POST" and sent.append(request.headers["content-type"]),
    )
    return sent


def test_sound_is_sent_once(page: Page, tmp_path: Path) -> None:
    """Other labels, and a calibration, use what the service keeps."""
    sent = bodies(page)
    drop(page, [recordings(tmp_path / "place", each=4)])
    settled(page, 12)
    assert sent
    assert all(kind.startswith("multipart/form-data") for kind in sent)
    sent.clear()
    page.get_by_label("What to listen for").fill('tone 2, "tone 7, loud", tone 12')
    expect(page.locator("#labels-state")).to_have_text("3 labels in use")
    settled(page, 12)
    assert set(rows(page).values()) <= {"tone 2", "tone 7, loud", "tone 12"}
    calibrate(page, "once")
    assert len(sent) >= 2
    assert set(sent) == {"application/json"}
    # The label with a comma is still one.
    expect(page.get_by_label("What to listen for")).to_have_value('tone 2, "tone 7, loud", tone 12')


def test_what_the_service_forgot_is_sent_again(page: Page, tmp_path: Path) -> None:
    drop(page, [write(tmp_path / "a.wav", tone(7, 1.0, 50))])
    settled(page, 1)
    page.evaluate(
        "async () => (await import('/page/store.js')).store.clips"
        ".forEach((clip) => (clip.row = '0'.repeat(32)))"
    )
    page.get_by_label("What to listen for").fill("tone 7, tone 3")
    expect(page.locator("#labels-state")).to_have_text("2 labels in use")
    settled(page, 1)
    assert rows(page)["a.wav"] == "tone 7"


def test_a_calibration_is_undone(page: Page, folder: Path, tmp_path: Path) -> None:
    drop(page, [folder])
    settled(page, 48)
    before = rows(page)
    calibrate(page, "undone")
    corrected = rows(page)
    assert corrected != before
    # A single file: offered, not taken.
    page.get_by_role("button", name="Remove all").click()
    drop(page, [write(tmp_path / "one.wav", tone(7, 1.0, 60))])
    settled(page, 1)
    calibrate(page, "undone")
    expect(page.locator("#verdict")).to_contain_text("Not used")
    expect(page.locator("#site-verdict")).not_to_have_text("zero-shot")
    page.get_by_role("button", name="Use it all the same").click()
    expect(page.locator("#site-verdict")).to_have_text("zero-shot")
    page.get_by_role("button", name="Manage").click()
    expect(page.locator("#site-versions li")).to_have_count(3)
    page.get_by_role("button", name="Undo the last change").click()
    expect(page.locator("#site-verdict")).not_to_have_text("zero-shot")
    page.get_by_role("button", name="Remove all").click()
    drop(page, [folder])
    settled(page, 48)
    eventually(page, lambda: rows(page) == corrected)
    page.get_by_role("button", name="Use zero-shot").click()
    expect(page.locator("#site-verdict")).to_have_text("not calibrated")
    settled(page, 48)
    eventually(page, lambda: rows(page) == before)


def test_a_site_is_renamed_saved_uploaded_and_deleted(
    page: Page, folder: Path, tmp_path: Path
) -> None:
    drop(page, [folder])
    settled(page, 48)
    calibrate(page, "moving")
    page.get_by_role("button", name="Manage").click()
    page.get_by_label("New name").fill("moved")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator("#site")).to_have_value("moved")
    with page.expect_download() as download:
        page.locator("#site-save").click()
    file = tmp_path / "brought.safetensors"
    download.value.save_as(file)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete the site").click()
    expect(page.locator("#site option[value=moved]")).to_have_count(0)
    page.locator("#site-file").set_input_files(file)
    expect(page.locator("#site")).to_have_value("brought")
    broken = tmp_path / "bad.safetensors"
    broken.write_bytes(b"nonsense")
    page.locator("#site-file").set_input_files(broken)
    expect(page.locator("#site-trouble")).to_contain_text("no PRISM adapter")


def test_a_reload_during_a_calibration_loses_nothing(page: Page, folder: Path) -> None:
    drop(page, [folder])
    settled(page, 48)
    page.get_by_label("Name of the site").fill("reloaded")
    page.get_by_role("button", name="Calibrate on").click()
    page.wait_for_function("() => sessionStorage.getItem('prism-job')")
    page.reload()
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.locator("#site")).to_have_value("reloaded")
    assert page.evaluate("() => sessionStorage.getItem('prism-job')") is None


def test_the_least_certain_come_first(page: Page, folder: Path) -> None:
    drop(page, [folder])
    settled(page, 48)
    page.get_by_label("Order").select_option("least certain first")
    margins = page.evaluate(
        "async () => (await import('/page/store.js')).store.clips.map((clip) => clip.result.margin)"
    )
    names = page.evaluate(
        "async () => (await import('/page/store.js')).store.clips.map((clip) => clip.name)"
    )
    assert margins == sorted(margins)
    assert list(rows(page)) == names

"""The whole way through the page: drop, read, calibrate, download."""

from __future__ import annotations

import csv
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from prism_audio import Adapter
from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.labelling.batch import embed_batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.model.vocabulary import Vocabulary
from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS, BandEncoder, recordings, tone, write
from tests.helpers.browser import calibrate, drop, eventually, rows, settled
from tests.helpers.processes import Served


def saved(page: Page, button: str, folder: Path) -> Path:
    """Press a button and keep the file it gives."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def asked(served: Served, path: str) -> Any:
    with urllib.request.urlopen(served.url + path) as answer:
        return json.load(answer)


def test_the_whole_way(
    page: Page, served: Served, folder: Path, broken: Path, tmp_path: Path
) -> None:
    drop(page, [folder, broken])
    settled(page, 48)
    expect(page.locator("#left-out")).to_contain_text("1 other file")
    expect(page.locator("#site-verdict")).to_have_text("not calibrated")
    zero_shot = rows(page)
    assert set(filter(None, zero_shot.values())) <= set(LABELS.split(", "))
    failed = page.get_by_role("option", name="broken.wav").locator(".clip-error")
    expect(failed).to_contain_text("convert it")

    expect(page.locator("#place")).to_have_value("street")
    calibrate(page, "Big Street")
    expect(page.locator("#site")).to_have_value("big-street")
    site = asked(served, "/v1/sites/big-street")
    assert site["verdict"] in ("adapted", "shrunk")
    expect(page.locator(".verdict .reasons li")).to_have_text(
        [r for r in site["reasons"] if not re.fullmatch(r"\d+ % of the correction", r)]
    )
    adapted = rows(page)
    counts = page.locator(".counts tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    before, after = Counter(zero_shot.values()), Counter(adapted.values())
    assert counts == [[name, str(before[name]), str(after[name])] for name in LABELS.split(", ")]
    changed = sum(adapted[name] != zero_shot[name] for name in zero_shot)
    expect(page.get_by_role("heading", name=f"{changed} of 48")).to_be_visible()
    assert page.locator(".changes tbody tr").count() == changed

    adapter = Adapter.load(saved(page, "Download the adapter", tmp_path))
    assert adapter.facts.verdict == site["verdict"]
    with saved(page, "Results as CSV", tmp_path).open(newline="", encoding="utf-8") as file:
        table = {row["file"]: row for row in csv.DictReader(file)}
    assert {name: row["label"] for name, row in table.items()} == adapted
    assert "convert it" in table["broken.wav"]["error"]
    told = json.loads(saved(page, "Results as JSON", tmp_path).read_text())
    assert {row["file"]: row.get("label", "") for row in told["results"]} == adapted
    assert told["calibration"]["site"]["name"] == "big-street"


def test_timeline_shows_what_changes_within_a_recording(page: Page, tmp_path: Path) -> None:
    both = np.concatenate([tone(2, 3, 1), tone(12, 3, 2)])
    drop(page, [write(tmp_path / "both.wav", both)])
    settled(page, 1)
    expect(page.locator("#timeline .piece")).to_have_text(["tone 2", "tone 12"])
    middle = page.evaluate(
        "() => { const room = document.querySelector('#timeline .track').getBoundingClientRect();"
        " const piece = document.querySelectorAll('#timeline .piece')[1].getBoundingClientRect();"
        " return (piece.left - room.left) / room.width }"
    )
    assert middle == pytest.approx(0.5, abs=0.05)
    picture = "() => document.querySelector('.picture canvas').toDataURL()"
    expect(page.get_by_role("img", name="Waveform of both.wav")).to_be_visible()
    waveform = page.evaluate(picture)
    page.get_by_role("radio", name="Spectrogram").check()
    assert page.evaluate(picture) != waveform
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_label("Position")).not_to_have_value("0")


def test_labels_take_effect(page: Page, folder: Path) -> None:
    drop(page, [folder])
    settled(page, 48)
    eventually(page, lambda: "tone 7" in rows(page).values())
    page.get_by_label("What to listen for").fill("tone 2\ntone 12, tone 12")
    expect(page.locator("#labels-state")).to_have_text("2 labels in use")
    eventually(page, lambda: set(rows(page).values()) == {"tone 2", "tone 12"})
    page.get_by_role("button", name="Use the site's own").click()
    expect(page.locator("#labels-state")).to_have_text("3 labels, the site's own")
    eventually(page, lambda: "tone 7" in rows(page).values())


def test_another_site_is_chosen(page: Page, folder: Path, served: Served) -> None:
    address = f"{served.url}/v1/calibrate?site=seven&labels=tone%207,tone%2012"
    E = np.eye(16)[[7, 12] * 20] + 0.1 * np.random.default_rng(1).standard_normal((40, 16))
    body = json.dumps({"embeddings": E.tolist()}).encode()
    head = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, body, head)) as answer:
        events = json.load(answer)["events"]
    with urllib.request.urlopen(served.url + events) as answer:
        assert b"event: done" in answer.read()
    page.reload()
    drop(page, [folder])
    settled(page, 48)
    page.get_by_label("Site", exact=True).select_option("seven")
    expect(page.locator("#labels")).to_have_value("tone 7, tone 12")
    settled(page, 48)
    assert "tone 2" not in rows(page).values()


def test_microphone(page: Page) -> None:
    page.get_by_role("button", name="Use the microphone").click()
    expect(page.locator("#live-now")).to_have_text("tone 7")
    expect(page.locator("#live-timeline .piece").last).to_have_text("tone 7")
    page.get_by_label("What to listen for").fill("tone 2, tone 12")
    expect(page.locator("#live-now")).to_have_text(re.compile("tone (2|12)"))
    expect(page.get_by_label("What to listen for")).to_be_focused()
    page.get_by_role("button", name="Use the site's own").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Add to the sounds").click()
    settled(page, 1)
    assert rows(page) == {"microphone 1 from 0:00.0.wav": "tone 7"}


def test_more_than_a_request_can_carry(
    open_page: Callable[..., Page], prism: Prism, tmp_path: Path
) -> None:
    """A folder beyond the limits is calibrated by its embeddings: the same as in Python."""
    sounds = recordings(tmp_path / "yard", each=6)
    with Served(prism, "--max-files", 10) as small:
        page = open_page(small.url)
        drop(page, [sounds])
        settled(page, 18)
        calibrate(page, "yard")
        adapter = Adapter.load(saved(page, "Download the adapter", tmp_path))
    encoder = BandEncoder()
    words = Vocabulary.from_text(encoder, read_labels(LABELS), PromptSet.load("sentences"))
    wanted = calibrate_place(embed_batch([sounds], encoder), words, place="yard")
    np.testing.assert_allclose(adapter.W, wanted.W, atol=1e-3)

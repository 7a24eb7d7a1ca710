"""What can go wrong on the page: a busy or silent service, its token, its limits, odd files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="needs the package playwright")

from playwright.sync_api import Page, expect

from tests.cli.conftest import Prism
from tests.helpers.bands import tone, write
from tests.helpers.browser import drop, rows, settled
from tests.helpers.processes import Served

CLASSIFY = "**/v1/classify*"

# A service inside the page, too quick to be one: busy at first, and silent after the tenth request
# until that one is given up.
PRETEND = """() => {
  const pretended = (window.pretended = { sizes: [], first: [], inside: 0, most: 0 });
  const real = window.fetch;
  const said = {
    file: "", seconds: 1, label: "tone 2", score: 0.5, zero_shot: "tone 2", zero_shot_score: 0.5,
    probability: 0.9, runner_up: null, margin: null, unknown: false, top: [], timeline: [], error: null,
  };
  const answer = async (body, signal) => {
    const files = body.getAll("files");
    const count = pretended.sizes.push(files.length);
    if (files[0].name.endsWith("0000.wav")) pretended.first.push(performance.now());
    if (count === 1) return new Response("", { status: 429, headers: { "Retry-After": "0.2" } });
    if (count > 10) {
      await new Promise((resolve, reject) => {
        if (window.pretended.quick) return resolve();
        signal.addEventListener("abort", () => {
          window.pretended.quick = true;
          reject(new DOMException("", "AbortError"));
        });
      });
    }
    return Response.json({ site: "", labels: [], adapted: false, results: files.map(() => said) });
  };
  window.fetch = async (path, options) => {
    if (!String(path).includes("v1/classify")) return real(path, options);
    pretended.most = Math.max(pretended.most, ++pretended.inside);
    return answer(options.body, options.signal).finally(() => pretended.inside--);
  };
}"""


def test_thousand_files_go_in_small_groups(page: Page, tmp_path: Path) -> None:
    """They can be stopped and gone on with, and a busy service is asked again."""
    for number in range(1000):
        (tmp_path / f"{number:04d}.wav").write_bytes(b"RIFF")
    page.evaluate(PRETEND)
    drop(page, [tmp_path])
    expect(page.locator("#list li")).to_have_count(1000)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#work-text")).to_contain_text("Stopped")
    unfinished = page.get_by_role("option", name="waiting").count()
    assert 0 < unfinished < 1000
    before = page.evaluate("() => window.pretended.sizes.length")
    page.get_by_role("button", name="Go on").click()
    settled(page, 1000)
    sizes = page.evaluate("() => window.pretended.sizes")
    assert sum(sizes[before:]) == unfinished
    assert set(sizes) == {8}
    assert page.evaluate("() => window.pretended.most") == 2
    refused, again = page.evaluate("() => window.pretended.first.slice(0, 2)")
    assert again - refused >= 200  # milliseconds that the service asked for


def test_service_that_does_not_answer(page: Page, folder: Path) -> None:
    page.route(CLASSIFY, lambda route: route.abort("connectionrefused"))
    drop(page, [folder / "02-00.wav", folder / "07-00.wav"])
    expect(page.locator("#work-error")).to_contain_text("does not answer")
    page.unroute(CLASSIFY)
    page.get_by_role("button", name="Try again").click()
    settled(page, 2)
    assert rows(page) == {"02-00.wav": "tone 2", "07-00.wav": "tone 7"}


def test_token_is_asked_for_once(
    open_page: Callable[..., Page], prism: Prism, folder: Path
) -> None:
    with Served(prism, PRISM_TOKEN="open-sesame") as guarded:
        page = open_page(guarded.url)
        for word in ("sesame", "open-sesame"):
            page.get_by_role("textbox", name="Token").fill(word)
            page.get_by_role("button", name="Go on").click()
            if word == "sesame":
                expect(page.locator("#token-wrong")).to_be_visible()
        expect(page.locator("#labels")).not_to_have_value("")
        page.reload()
        expect(page.locator("#labels")).not_to_have_value("")
        drop(page, [folder / "02-00.wav"])
        settled(page, 1)
        page.get_by_role("button", name="Use the microphone").click()
        expect(page.locator("#live-now")).to_have_text("tone 7")
        page.get_by_role("button", name="Stop").click()


def test_every_bad_file_has_its_own_reason(page: Page, tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.wav").write_bytes(b"no sound" * 50)
    whole = write(tmp_path / "whole.flac", tone(2, 2, 1)).read_bytes()
    (tmp_path / "cut.flac").write_bytes(whole[:60])
    (tmp_path / "whole.flac").unlink()
    drop(page, sorted(tmp_path.iterdir()))
    expect(page.locator("#summary")).to_contain_text("3 failed")
    reasons = page.locator(".clip-error").all_text_contents()
    assert len(set(reasons)) == 3
    expect(page.locator("#detail .error")).to_have_text(reasons[0])
    page.get_by_role("button", name="Try again", exact=True).click()
    expect(page.locator("#summary")).to_contain_text("3 failed")
    page.get_by_role("button", name="Remove all").click()
    expect(page.locator("#results")).to_be_hidden()


def test_labels_that_the_service_refuses(page: Page, folder: Path) -> None:
    drop(page, [folder / "02-00.wav"])
    settled(page, 1)
    page.get_by_label("What to listen for").fill("x" * 5000)
    expect(page.locator("#labels-state.error")).to_be_visible()
    page.get_by_label("What to listen for").fill("tone 2, tone 7")
    expect(page.locator("#labels-state")).to_have_text("2 labels in use")
    assert rows(page) == {"02-00.wav": "tone 2"}


def test_names_are_text(page: Page, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title='harmed'>.wav"
    drop(page, [write(tmp_path / name, tone(2, 1, 1))])
    settled(page, 1)
    assert rows(page) == {name: "tone 2"}
    assert page.locator("main img").count() == 0
    assert page.title() == "PRISM"

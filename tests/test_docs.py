"""The documentation keeps step with the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from prism_audio.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def test_the_page_on_the_method_is_the_docstrings():
    script = runpy.run_path(str(ROOT / "docs" / "make_method.py"))
    written = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    assert written == script["page"](), "run python docs/make_method.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page(command):
    assert (ROOT / "docs" / f"{command}.md").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(
        r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")
    ):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"

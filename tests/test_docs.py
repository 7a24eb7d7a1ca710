"""The documentation keeps step with the code."""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

from prism_audio.cli import COMMANDS, app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TEXTS = {page.name if page.parent == ROOT else f"docs/{page.name}": page for page in PAGES}
# A call of the command in a code block, with what a backslash continues.
CALL = re.compile(rf"^ *(?:\S.*\| )?prism ({'|'.join(COMMANDS)})\b((?:.*\\\n)*.*)$", re.MULTILINE)
CODE = re.compile(r"```\w*\n(.*?)```|((?:^    .*\n)+)", re.DOTALL | re.MULTILINE)
IMPORT = re.compile(r"^ *from (prism_audio[\w.]*) import (.+)$", re.MULTILINE)


@pytest.fixture(params=TEXTS, name="text")
def _text(request):
    return TEXTS[request.param].read_text(encoding="utf-8")


def options(command: str) -> set[str]:
    """The names of all options of a command, long and short."""
    params = get_command(app).commands[command].params
    names = {name for param in params for name in (*param.opts, *param.secondary_opts)}
    return {name for name in names if name.startswith("-")} | {"-h", "--help"}


def test_the_page_on_the_method_is_the_docstrings():
    script = runpy.run_path(str(ROOT / "docs" / "make_method.py"))
    written = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    assert written == script["page"](), "run python docs/make_method.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_that_names_its_options(command):
    page = (ROOT / "docs" / f"{command}.md").read_text(encoding="utf-8")
    known = {name for param in get_command(app).commands[command].params for name in param.opts}
    missing = [name for name in sorted(known) if name.startswith("--") and name not in page]
    assert not missing, f"docs/{command}.md does not name {missing}"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_fits_eighty_columns(command):
    text = get_command(app).commands[command].help
    assert "Example: [bold]" in text
    # Rich keeps the line breaks of a paragraph; longer lines would break a second time.
    lines = text.replace("[bold]", "").replace("[/bold]", "").split("\n\n", 1)[1].splitlines()
    assert [line for line in lines if len(line) > 78 and "Example" not in line] == []


def test_calls_in_pages_have_options_that_exist(text):
    for code in CODE.finditer(text):
        for command, rest in CALL.findall(code.group()):
            used = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest.split("#")[0].split(" | ")[0]))
            assert used <= options(command), f"prism {command}{rest}"


def test_imports_in_pages_work(text):
    for module, names in IMPORT.findall(text):
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("prism_audio"):
                raise
            pytest.skip(f"{module} needs {error.name}, an extra")
        for name in re.findall(r"\w+", names.split("#")[0]):
            assert hasattr(import_module(module), name), f"from {module} import {name}"


def test_the_page_on_the_architecture_names_every_folder_and_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "prism_audio"
    folders = [path.parent.name for path in source.glob("*/__init__.py")]
    assert [name for name in folders if f"`{name}/`" not in page] == []
    named = re.findall(r"`(\w+/[\w/]+\.py)`", page)
    assert [name for name in named if not (source / name).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(
        r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")
    ):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"

"""Hooks of the documentation site: pages from the root folder, plain names, no other hosts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import BuildError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# Pages that GitHub and package tools look for in the root folder.
ROOT_PAGES = {
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}
# What makes a browser ask another host: scripts, pictures, style sheets, frames, fonts.
REQUEST = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)[^>]*\ssrc=["']?(?:https?:)?//
    |<link(?![^>]*rel=["']?canonical)[^>]*\shref=["']?(?:https?:)?//
    |url\(["']?(?:https?:)?//|@import\s+["'](?:https?:)?//""",
    re.VERBOSE,
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie outside ``docs``."""
    for name, source in ROOT_PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links of pages from the root folder relative to ``docs``."""
    if page.file.src_uri in ROOT_PAGES:
        for name, source in ROOT_PAGES.items():
            markdown = markdown.replace(f"]({source}", f"]({name}")
        markdown = markdown.replace("](docs/", "](")
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Show the names that docstrings link to (:class:`X`) as plain code."""
    return re.sub(r":(?:class|func|meth|mod|attr):(<code>)", r"\1", html)


def on_post_build(config: Any, **_: Any) -> None:
    """Refuse a site whose pages load anything from another host."""
    for path in sorted(Path(config["site_dir"]).rglob("*")):
        if path.suffix in {".html", ".css"}:
            match = REQUEST.search(path.read_text(encoding="utf-8"))
            if match:
                raise BuildError(f"{path.name} asks another host: {match.group()[:120]}")

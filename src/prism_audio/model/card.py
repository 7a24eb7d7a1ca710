"""Cards: names and values as plain text, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Rows = Sequence[tuple[str, str]]


def text(rows: Rows) -> str:
    """The card of an adapter in plain text."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(["PRISM adapter", *(f"  {n:<{width}}  {v}" for n, v in rows)])


def html(title: str, rows: Rows) -> str:
    """A card for a notebook."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def markdown(rows: Rows) -> str:
    """The card of an adapter as a Markdown page."""
    lines = ["# PRISM adapter", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {_escape(value)} |" for name, value in rows]
    lines += [
        "",
        "Use it: `prism classify FOLDER --adapter THIS_FILE`, or in Python:",
        "",
        "```python",
        "from prism_audio import Adapter",
        'adapter = Adapter.load("site.safetensors")',
        "index = adapter.predict(embeddings)   # (N, d) from the same encoder",
        "```",
        "",
    ]
    return "\n".join(lines)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|")

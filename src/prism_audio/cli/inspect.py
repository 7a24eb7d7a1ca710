"""``prism inspect``: the card of an adapter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_audio.cli import options
from prism_audio.cli.console import say, say_json
from prism_audio.cli.text_tables import show_pairs, show_table, show_text
from prism_audio.model.facts import ClassEvidence

if TYPE_CHECKING:
    from prism_audio.model.adapter import Adapter


def command(
    adapter: Annotated[Path, typer.Argument(help="The file that 'prism calibrate' wrote.")],
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a Markdown page, for a README or a wiki.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Print what an adapter is: its place, verdict, encoder, prompts, and class by class.

    A class is marked as trapped if the correction removes much more of its spread
    than of the others': sounds that are rich in themselves, such as music, may
    then be recognised less well.

    Example: [bold]prism inspect site.safetensors[/bold]
    """
    from prism_audio.model.adapter import Adapter

    found = Adapter.load(adapter)
    if as_json:
        say_json(document(found))
    elif as_markdown:
        typer.echo(markdown(found))
    else:
        show(found)


def document(adapter: Adapter) -> dict[str, Any]:
    """All that an adapter says of itself, for programs."""
    facts = replace(adapter.facts, classes=None, surroundings=None).to_dict()
    return {
        "encoder": adapter.encoder,
        "encoder_fingerprint": adapter.encoder_fingerprint,
        "prompts": adapter.prompts,
        "prompts_fingerprint": adapter.prompts_fingerprint,
        "parameters": adapter.parameters,
        **facts,
        "classes": class_rows(adapter),
        "trap": trap_words(adapter),
    }


def class_rows(adapter: Adapter) -> list[dict[str, Any]]:
    """For every class its label and the evidence about it."""
    evidence = adapter.facts.classes or ClassEvidence()
    return [{"label": label, **evidence.of_class(c)} for c, label in enumerate(adapter.labels)]


def trap_words(adapter: Adapter) -> str:
    """Which classes sit in the Polyphonic Trap, and what was done about it."""
    rows = class_rows(adapter)
    if not all("trapped" in row for row in rows):
        return "nothing was deflated, so no class can be in the polyphonic trap"
    caught = ", ".join(row["label"] for row in rows if row["trapped"])
    ruled = sum(bool(row.get("rank_rule")) for row in rows)
    car = bool(adapter.parameters.get("car"))
    parts = [
        f"in the polyphonic trap: {caught}" if caught else "no class is in the polyphonic trap",
        f"rank + K > d for {ruled} of {len(rows)} classes" if ruled else "",
        f"CAR is {'on' if car else 'off'}",
        "'prism calibrate --car' corrects unsure classes less" if caught and not car else "",
    ]
    return "; ".join(filter(None, parts))


_COLUMNS = ("class", "clips", "confidence", "removed", "trap")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    """One class for a table: what zero-shot gave it -> what the adapter gives it."""
    removed = row.get("removed")
    return (
        row["label"],
        _change(row, "clips", "{}"),
        _change(row, "confidence", "{:.2f}"),
        "" if removed is None else f"{100 * removed:.0f} %",
        "yes" if row.get("trapped") else "",
    )


def _change(row: dict[str, Any], name: str, form: str) -> str:
    values = [row.get(f"{name}_{when}") for when in ("before", "after")]
    shown = ["-" if value is None else form.format(value) for value in values]
    return "" if shown == ["-", "-"] else " -> ".join(shown)


def show(adapter: Adapter) -> None:
    """Print the card and the classes for people."""
    show_pairs("PRISM adapter", adapter.card())
    say("")
    show_table(
        _COLUMNS,
        [_cells(row) for row in class_rows(adapter)],
        numbers=_COLUMNS[1:4],
        most=60,
        rest="--json prints all",
    )
    say("")
    show_text(trap_words(adapter))


def markdown(adapter: Adapter) -> str:
    """The card and the classes as a Markdown page."""
    lines = ["", "## Classes", "", f"| {' | '.join(_COLUMNS)} |", "|" + "---|" * len(_COLUMNS)]
    for row in class_rows(adapter):
        cells = [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in _cells(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return adapter.markdown() + "\n".join([*lines, "", trap_words(adapter), ""])

"""A table, and the two ways in which it is written: Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from prism_audio.bench.scores import Interval


@dataclass(frozen=True)
class ReportTable:
    """Cells as text. The first column names the row; ``strong`` cells are the best of theirs.

    Attributes
    ----------
    title : str
        What it shows.
    header : list of str
        One for each column.
    rows : list of lists of str
        The cells.
    note : str
        What a reader must know to read it right.
    strong : set of (row, column)
        Cells to stress.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""
    strong: set[tuple[int, int]] = field(default_factory=set)

    def markdown(self) -> str:
        """A GitHub table under its title."""
        lines = [f"**{self.title}**", ""]
        lines.append("| " + " | ".join(self.header) + " |")
        lines.append("|" + "|".join(["---"] + ["---:"] * (len(self.header) - 1)) + "|")
        for number, row in enumerate(self.rows):
            cells = [
                f"**{cell}**" if (number, column) in self.strong else cell
                for column, cell in enumerate(row)
            ]
            lines.append("| " + " | ".join(cells) + " |")
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines)

    def html(self) -> str:
        """A table element with its caption."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = []
        for number, row in enumerate(self.rows):
            cells = []
            for column, cell in enumerate(row):
                tag = "th" if column == 0 else "td"
                shown = escape(cell)
                if (number, column) in self.strong:
                    shown = f"<b>{shown}</b>"
                cells.append(f"<{tag}>{shown}</{tag}>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        note = f"<p class=note>{escape(self.note)}</p>" if self.note else ""
        return (
            f"<div class=table><table><caption>{escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>{note}"
        )


def percent(value: float | None) -> str:
    """73.4 for .734; a dash where there is none."""
    return "-" if value is None or value != value else f"{100 * value:.1f}"


def points(value: float) -> str:
    """+1.2 for .012."""
    return f"{100 * value:+.1f}"


def interval(found: Interval) -> str:
    """+1.2 [+0.8, +1.6] for a difference with its interval."""
    return f"{points(found.mean)} [{points(found.low)}, {points(found.high)}]"


def best_of(
    columns: Sequence[Sequence[float | None]], first_column: int = 1
) -> set[tuple[int, int]]:
    """(row, column) of the largest number of each column; the columns begin at ``first_column``."""
    found = set()
    for offset, column in enumerate(columns):
        known = [value for value in column if value is not None and value == value]
        if len(known) > 1:
            top = max(known)
            found |= {
                (row, first_column + offset) for row, value in enumerate(column) if value == top
            }
    return found

"""A table of the report, and its two forms: Markdown and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from prism_audio.bench.trials.scores import Interval

# A number of a table; None or NaN where there is none.
Number = float | None


@dataclass(frozen=True)
class ReportTable:
    """Cells as text. The first column names the row; ``strong`` cells are the best of their column."""

    title: str  # what it shows
    header: list[str]  # one for each column
    rows: list[list[str]]  # the cells
    note: str = ""  # how to read it
    strong: set[tuple[int, int]] = field(default_factory=set)  # cells in bold
    # Whether the cells are sentences, which are set to the left and broken into lines.
    prose: bool = False

    def markdown(self) -> str:
        """A GitHub table under its title."""
        lines = [f"**{self.title}**", "", "| " + " | ".join(self.header) + " |"]
        lines.append(
            "|"
            + "|".join(["---"] + ["---" if self.prose else "---:"] * (len(self.header) - 1))
            + "|"
        )
        for number, row in enumerate(self.rows):
            cells = [
                f"**{cell}**" if (number, column) in self.strong else cell
                for column, cell in enumerate(row)
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join([*lines, "", self.note] if self.note else lines)

    def html(self) -> str:
        """A table element with its caption."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = []
        for number, row in enumerate(self.rows):
            cells = []
            for column, cell in enumerate(row):
                tag, shown = "td" if column else "th", escape(cell)
                if (number, column) in self.strong:
                    shown = f"<b>{shown}</b>"
                cells.append(f"<{tag}>{shown}</{tag}>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        note = f"<p class=note>{escape(self.note)}</p>" if self.note else ""
        return (
            f"<div class=table><table{' class=prose' * self.prose}>"
            f"<caption>{escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>{note}"
        )


def score_table(
    title: str, columns: Sequence[str], scores: Mapping[str, Sequence[Number]], note: str
) -> ReportTable:
    """A row of percentages for each method; the best of each column is bold."""
    rows = [[method, *map(percent, values)] for method, values in scores.items()]
    return ReportTable(title, ["method", *columns], rows, note, best_of(list(scores.values())))


def percent(value: Number) -> str:
    """73.4 for .734; a dash where there is none."""
    return "-" if value is None or value != value else f"{100 * value:.1f}"


def points(value: float) -> str:
    """+1.2 for .012."""
    return f"{100 * value:+.1f}"


def interval(gap: Interval) -> str:
    """+1.2 [+0.8, +1.6] for a difference with its interval."""
    return f"{points(gap.mean)} [{points(gap.low)}, {points(gap.high)}]"


def best_of(rows: Sequence[Sequence[Number]], first_column: int = 1) -> set[tuple[int, int]]:
    """(row, column) of the largest number of each column, counted from ``first_column``."""
    cells = set()
    for column, numbers in enumerate(zip(*rows, strict=True), start=first_column):
        known = [value for value in numbers if value is not None and value == value]
        if len(known) > 1:
            cells |= {(row, column) for row, value in enumerate(numbers) if value == max(known)}
    return cells

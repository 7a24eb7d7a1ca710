"""Tables for people: eighty columns, long ones cut with a word about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

ROWS = 20
# Columns for a cell that is not the first, and between two cells.
WIDEST, GAP = 18, 2


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[str] = (),
    most: int = ROWS,
    rest: str = "",
) -> None:
    """Print a table; columns named in ``numbers`` are right-aligned, the first gives way to them all.

    Of more than ``most`` rows the first are shown, and ``rest`` says where the others are.
    """
    console = Console(highlight=False)
    every = list(rows)
    cells = [[_cut(cell, WIDEST) for cell in row[1:]] for row in every[:most]]
    widths = [max(map(cell_len, column)) for column in zip(columns[1:], *cells, strict=True)]
    room = max(12, console.width - sum(widths) - GAP * len(widths))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(Text(name), justify="right" if name in numbers else "left", no_wrap=True)
    names = _cut_apart([row[0] for row in every[:most]], room)
    for name, others in zip(names, cells, strict=True):
        table.add_row(*map(Text, (name, *others)))  # Text: no cell is markup
    console.print(table)
    if len(every) > most:
        console.print(Text(f"... {len(every) - most} more{'; ' + rest if rest else ''}"))


def _cut_apart(texts: Sequence[str], width: int) -> list[str]:
    """Texts of at most so many columns; those that differ stay different where that is possible.

    The end of a file's name tells more than its middle; where the ends are alike, what all begin with
    and end with is left out.
    """
    begin = _shared(texts)
    end = _shared([text[begin:][::-1] for text in texts])
    cores = [f"…{text[begin : len(text) - end]}…" for text in texts]
    ways = [[_cut(text, width, tail) for text in texts] for tail in range(width // 2, width - 2, 4)]
    ways.append([_cut(core, width) for core in cores])
    return max(ways, key=lambda way: len(set(way)))


def _shared(texts: Sequence[str]) -> int:
    """How many first characters all texts have in common."""
    columns = zip(*texts, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def _cut(text: str, width: int, tail_width: int | None = None) -> str:
    """A text of at most so many columns, without its middle."""
    if cell_len(text) <= width:
        return text
    head, tail = text, text
    while cell_len(head) > (width // 2 if tail_width is None else width - 1 - tail_width):
        head = head[:-1]
    while cell_len(tail) > width - 1 - cell_len(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def show_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print names with values, long values folded beside their name."""
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(Text(f"  {name}"), Text(value))
    console = Console(highlight=False)
    console.print(Text(title))
    console.print(grid)


def show_text(text: str) -> None:
    """Print a sentence, broken between words where the terminal ends; all lines begin as the first."""
    indent = len(text) - len(text.lstrip())
    console = Console(highlight=False)
    for line in Text(text.lstrip()).wrap(console, console.width - indent):
        line.rstrip()
        console.print(Text(" " * indent) + line)


def number(value: float | None) -> str:
    """A number for a table; empty where there is none."""
    return "" if value is None else f"{value:z.2f}"

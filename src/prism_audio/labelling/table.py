"""The result of labelling recordings: rows that can be counted, indexed, written and shown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

from prism_audio.errors import PrismError
from prism_audio.io.table_files import write_table
from prism_audio.labelling.classify import COLUMNS, BatchSummary, Row, summarise

if TYPE_CHECKING:
    import pandas

# Rows that a notebook shows.
SHOWN = 20


class Table(Sequence[Row]):
    """Rows with their answers, in the order of the recordings.

    Attributes
    ----------
    rows : list of Row
        One for every recording, or for every window.
    failures : list of (path, reason)
        Recordings that could not be read.
    top : int
        Best classes that get columns of their own.
    """

    def __init__(
        self, rows: list[Row], failures: Sequence[tuple[str, str]] = (), top: int = 0
    ) -> None:
        self.rows, self.failures, self.top = rows, list(failures), top

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: int | slice) -> Row | Table:
        if isinstance(index, slice):
            return Table(self.rows[index], self.failures, self.top)
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.rows[0].columns(self.top)) if self.rows else list(COLUMNS)

    def records(self) -> list[dict[str, Any]]:
        """Every row as a dict from column to value."""
        return [row.columns(self.top) for row in self.rows]

    def summary(self) -> BatchSummary:
        """How many labels changed, and the counts of the classes."""
        return summarise(self.rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.csv``, ``.json`` or ``.parquet`` file."""
        write_table(path, self.columns, self.records())

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame; needs pandas."""
        try:
            import pandas
        except ImportError:
            raise PrismError(
                "a data frame needs pandas (pip install pandas); without it, save() writes a file"
            ) from None
        return pandas.DataFrame(self.records(), columns=self.columns)

    def __repr__(self) -> str:
        summary = self.summary()
        return f"Table({summary.rows} rows, {summary.changed} labels changed, {summary.unknown} unknown)"

    def _repr_html_(self) -> str:
        def line(cells: Sequence[Any], tag: str) -> str:
            shown = (escape("" if cell is None else str(cell)) for cell in cells)
            return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"

        body = [line(list(record.values()), "td") for record in self[:SHOWN].records()]
        return (
            f"<table><caption>{escape(repr(self))}</caption>"
            f"{line(self.columns, 'th')}{''.join(body)}</table>"
        )

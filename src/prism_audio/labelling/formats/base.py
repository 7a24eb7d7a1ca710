"""What an event format is: text for the events of one recording, or of all in one file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from prism_audio.errors import InputError


class TimedLabel(NamedTuple):
    """A label from ``start`` to ``end`` seconds of a recording; ``score`` is its confidence."""

    file: str
    start: float
    end: float
    label: str
    score: float | None = None


class Recording(NamedTuple):
    """What a format may tell about a recording: its name, its length, its rate in Hz."""

    file: str
    seconds: float
    rate: int


class EventFormat(Protocol):
    """A way to write events.

    Attributes
    ----------
    name : str
        What ``--format`` calls it.
    suffix : str
        End of the names of its files, after the stem of the recording.
    combined : bool
        Whether the events of all recordings go into one file.
    """

    name: str
    suffix: str
    combined: bool

    def write(self, events: Sequence[TimedLabel], recordings: Sequence[Recording]) -> str:
        """The text of a file with ``events`` of ``recordings``, both in order."""
        ...


class ReadableFormat(EventFormat, Protocol):
    """A format that can also be read back, as truth."""

    def read(self, text: str, file: str) -> list[TimedLabel]:
        """The events of a file; ``file`` names the recording where the text does not."""
        ...


def delimited(
    header: Sequence[str] | None, rows: Iterable[Sequence[Any]], delimiter: str = ","
) -> str:
    """Rows as delimited text with an optional header."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    if header is not None:
        writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def tab_separated(header: Sequence[str] | None, rows: Iterable[Sequence[Any]]) -> str:
    """Rows with tabs between cells and no quotes, as Audacity and Raven read them."""
    lines = [] if header is None else ["\t".join(header)]
    lines += ["\t".join(" ".join(str(cell).split()) for cell in row) for row in rows]
    return "".join(line + "\n" for line in lines)


def read_rows(text: str, wanted: Sequence[str], what: str) -> list[Mapping[str, str]]:
    """Rows of tab-separated text with a header that has all ``wanted`` columns."""
    rows = csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = [name for name in wanted if name not in (rows.fieldnames or ())]
    if missing:
        raise InputError(f"{what}: the column {missing[0]!r} is missing from its header")
    try:
        return list(rows)
    except csv.Error as error:
        raise InputError(f"{what} cannot be read as a table ({error})") from None


def read_seconds(cell: str | None, what: str, line: int) -> float:
    """A time in seconds from a cell."""
    try:
        return float(str(cell).replace(",", "."))
    except ValueError:
        raise InputError(
            f"{what}, line {line}: {cell!r} is not a time in seconds; correct or remove the line"
        ) from None


def in_order(start: float, end: float, what: str, line: int) -> tuple[float, float]:
    """The bounds, or an error where the end lies before the start."""
    if end < start or start < 0:
        raise InputError(f"{what}, line {line}: {start} to {end} s is no stretch of time")
    return start, end

"""Sound event detection lists as ``sed_eval`` and the DCASE challenges read them, all in one file."""

from __future__ import annotations

from collections.abc import Sequence

from prism_audio.labelling.formats.base import (
    Recording,
    TimedLabel,
    in_order,
    read_rows,
    read_seconds,
    tab_separated,
)

COLUMNS = ("filename", "onset", "offset", "event_label")


class Sed:
    """A line an event: file, onset, offset and label with tabs between, under a header."""

    name = "sed"
    suffix = ".tsv"
    combined = True

    def write(self, events: Sequence[TimedLabel], recordings: Sequence[Recording]) -> str:
        """The list of all recordings."""
        rows = ((e.file, f"{e.start:.3f}", f"{e.end:.3f}", e.label) for e in events)
        return tab_separated(COLUMNS, rows)

    def read(self, text: str, file: str) -> list[TimedLabel]:
        """Read a list, with the header or, as some are published, without one."""
        if not text.startswith(COLUMNS[0]) and "\t" in text.split("\n", 1)[0]:
            text = "\t".join(COLUMNS) + "\n" + text
        events = []
        for line, row in enumerate(read_rows(text, COLUMNS, file), start=2):
            if not row["event_label"]:  # a recording in which nothing happens
                continue
            start, end = (read_seconds(row[name], file, line) for name in ("onset", "offset"))
            bounds = in_order(start, end, file, line)
            events.append(TimedLabel(row["filename"] or file, *bounds, row["event_label"].strip()))
        return events

"""Raven selection tables: one a recording, and one for all whose times run over all files.

Raven opens a table of several recordings together with those recordings, in the order of the table:
begin and end times then count from the start of the first one. ``File Offset (s)`` is the time within
the recording itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from prism_audio.labelling.formats.base import (
    Recording,
    TimedLabel,
    in_order,
    read_rows,
    read_seconds,
    tab_separated,
)

COLUMNS = (
    "Selection",
    "View",
    "Channel",
    "Begin Time (s)",
    "End Time (s)",
    "Low Freq (Hz)",
    "High Freq (Hz)",
    "Begin Path",
    "File Offset (s)",
    "Label",
    "Confidence",
)


class Raven:
    """A selection table; a box spans all frequencies of its recording."""

    name = "raven"
    suffix = ".Table.1.selections.txt"
    combined = False

    def write(self, events: Sequence[TimedLabel], recordings: Sequence[Recording]) -> str:
        """The table of one recording or, with several, of all of them one after another."""
        ends = accumulate((recording.seconds for recording in recordings), initial=0.0)
        begins = dict(zip((recording.file for recording in recordings), ends, strict=False))
        rates = {recording.file: recording.rate for recording in recordings}
        rows = []
        for number, event in enumerate(events, start=1):
            shift = begins[event.file]
            score = "" if event.score is None else f"{event.score:.4f}"
            rows.append(
                (
                    number,
                    "Spectrogram 1",
                    1,
                    f"{shift + event.start:.6f}",
                    f"{shift + event.end:.6f}",
                    "0.0",
                    f"{rates[event.file] / 2:.1f}",
                    event.file,
                    f"{event.start:.6f}",
                    event.label,
                    score,
                )
            )
        return tab_separated(COLUMNS, rows)

    def read(self, text: str, file: str) -> list[TimedLabel]:
        """Read a selection table; other columns than those of ours may be there, in any order.

        Raven itself writes a selection once for every view, so only the first view counts. Where
        the table names recordings, times are those within each.
        """
        rows = read_rows(text, ("Begin Time (s)", "End Time (s)", "Label"), file)
        views = [row.get("View") for row in rows]
        events = []
        for line, row in enumerate(rows, start=2):
            if row.get("View") != views[0]:
                continue
            start = read_seconds(row["Begin Time (s)"], file, line)
            length = read_seconds(row["End Time (s)"], file, line) - start
            path = row.get("Begin Path")
            if path and row.get("File Offset (s)"):
                start = read_seconds(row["File Offset (s)"], file, line)
            bounds = in_order(start, start + length, file, line)
            score = row.get("Confidence")
            events.append(
                TimedLabel(
                    str(Path(path)) if path else file,
                    *bounds,
                    str(row["Label"]).strip(),
                    float(score) if score else None,
                )
            )
        return events

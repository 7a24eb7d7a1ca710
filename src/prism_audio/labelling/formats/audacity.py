"""Audacity labels: start, end and label with tabs between, no header; one file a recording.

In Audacity: File, Import, Labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from prism_audio.errors import InputError
from prism_audio.labelling.formats.base import (
    Recording,
    TimedLabel,
    in_order,
    read_seconds,
    tab_separated,
)


class Audacity:
    """One line an event: ``start TAB end TAB label``."""

    name = "audacity"
    suffix = ".txt"
    combined = False

    def write(self, events: Sequence[TimedLabel], recordings: Sequence[Recording]) -> str:
        """The label track of one recording."""
        return tab_separated(None, ((f"{e.start:.6f}", f"{e.end:.6f}", e.label) for e in events))

    def read(self, text: str, file: str) -> list[TimedLabel]:
        """Read a label track; lines that begin with a backslash (frequency ranges) are left out."""
        events = []
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.startswith("\\"):
                continue
            cells = line.split("\t")
            if len(cells) < 3:
                raise InputError(
                    f"{file}, line {number}: wanted start, end and label with tabs between, as "
                    "Audacity exports them"
                )
            start, end = (read_seconds(cell, file, number) for cell in cells[:2])
            events.append(TimedLabel(file, *in_order(start, end, file, number), cells[2].strip()))
        return events

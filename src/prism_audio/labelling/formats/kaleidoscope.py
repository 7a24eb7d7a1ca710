"""Kaleidoscope: the columns of its ``id.csv``, one file for all recordings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from prism_audio.labelling.formats.base import Recording, TimedLabel, delimited

COLUMNS = ("INDIR", "FOLDER", "IN FILE", "OFFSET", "DURATION", "TOP1MATCH", "TOP1DIST")


class Kaleidoscope:
    """A row an event; TOP1DIST is a distance, so a sure event has a small one."""

    name = "kaleidoscope"
    suffix = ".csv"
    combined = True

    def write(self, events: Sequence[TimedLabel], recordings: Sequence[Recording]) -> str:
        """The table; INDIR is the folder that holds all recordings, FOLDER the way below it."""
        folders = [str(Path(recording.file).parent) for recording in recordings]
        common = os.path.commonpath(folders) if folders else ""
        rows = []
        for event in events:
            path = Path(event.file)
            below = os.path.relpath(path.parent, common or ".")
            distance = "" if event.score is None else f"{1 - event.score:.4f}"
            rows.append(
                (
                    common,
                    "" if below == "." else below,
                    path.name,
                    f"{event.start:.3f}",
                    f"{event.end - event.start:.3f}",
                    event.label,
                    distance,
                )
            )
        return delimited(COLUMNS, rows)

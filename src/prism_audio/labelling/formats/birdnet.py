"""BirdNET-Analyzer's CSV columns, one file for all recordings; a label stands for the species."""

from __future__ import annotations

from collections.abc import Sequence

from prism_audio.labelling.formats.base import Recording, TimedLabel, delimited

COLUMNS = ("Start (s)", "End (s)", "Scientific name", "Common name", "Confidence", "File")


class BirdNet:
    """A row an event; a label has no scientific name, so both name columns hold it."""

    name = "birdnet"
    suffix = ".csv"
    combined = True

    def write(self, events: Sequence[TimedLabel], recordings: Sequence[Recording]) -> str:
        """The table of all recordings."""
        return delimited(
            COLUMNS,
            (
                (
                    f"{e.start:.3f}",
                    f"{e.end:.3f}",
                    e.label,
                    e.label,
                    "" if e.score is None else f"{e.score:.4f}",
                    e.file,
                )
                for e in events
            ),
        )

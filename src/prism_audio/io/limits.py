"""How large a calibration may be; beyond it there is a message instead of a long wait or no memory."""

from __future__ import annotations

from prism_audio.errors import InputError

# About 30 bytes a row are held in memory, whatever the rows lie in.
MAX_ROWS = 100_000_000
# A map in float64 is then half of what the file of an adapter may be.
MAX_WIDTH = 8192
# The labels and what is known of each class fit into the header of an adapter.
MAX_CLASSES = 5000


def refuse_too_large(rows: int, width: int, classes: int) -> None:
    """Raise an :class:`InputError` that names what is too large, and what to do."""
    for count, most, remedy in (
        (rows, MAX_ROWS, "rows; calibrate on a sample of them"),
        (width, MAX_WIDTH, "numbers in a row; use an encoder with fewer dimensions"),
        (classes, MAX_CLASSES, "classes; use fewer labels"),
    ):
        if count > most:
            raise InputError(f"a calibration takes at most {most:,} {remedy} (these are {count:,})")

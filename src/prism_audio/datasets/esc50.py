"""ESC-50: 2000 clips of 5 s in 50 classes and 5 folds (K. J. Piczak, 2015)."""

from __future__ import annotations

import os
from pathlib import Path

from prism_audio.datasets.published import (
    DatasetOrigin,
    Published,
    class_names,
    find_clips,
    read_table,
    whole_number,
)

ORIGIN = DatasetOrigin(
    "ESC-50",
    "the GitHub repository karolpiczak/ESC-50 (dataset DOI 10.7910/DVN/YDEPUT)",
    "meta/esc50.csv (or esc50.csv) beside audio/",
)


def load_esc50(folder: str | os.PathLike[str]) -> Published:
    """The dataset below a folder, in the order of its table.

    Raises
    ------
    InputError
        When the table or clips are missing; the message says which, and where to get them.
    """
    root = Path(folder)
    columns = ("filename", "fold", "target", "category", "src_file")
    rows = read_table(root, ("meta/esc50.csv", "esc50.csv"), columns, ORIGIN)
    files = find_clips(root, (f"audio/{row['filename']}" for row in rows), ORIGIN)
    labels = [whole_number(row, "target", ORIGIN, root) for row in rows]
    folds = [whole_number(row, "fold", ORIGIN, root) for row in rows]
    classes = class_names(labels, [row["category"] for row in rows], ORIGIN, root)
    sources = [row["src_file"] for row in rows]
    return Published("esc50", files, classes, labels, folds, sources=sources)

"""ESC-50: 2000 clips of 5 s in 50 classes and 5 folds (K. J. Piczak, 2015)."""

from __future__ import annotations

import os

from prism_audio.datasets.published import DatasetOrigin, Published, load_numbered

ORIGIN = DatasetOrigin(
    "ESC-50",
    "the GitHub repository karolpiczak/ESC-50 (dataset DOI 10.7910/DVN/YDEPUT)",
    "meta/esc50.csv (or esc50.csv) beside audio/",
)


def load_esc50(folder: str | os.PathLike[str]) -> Published:
    """The dataset below a folder, in the order of its table; an error names what is missing."""
    tables = ("meta/esc50.csv", "esc50.csv")
    columns = ("filename", "fold", "target", "category", "src_file")
    place = "audio/{name}"
    return load_numbered("esc50", folder, ORIGIN, tables, columns, place)

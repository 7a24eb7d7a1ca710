"""UrbanSound8K: 8732 clips of up to 4 s in 10 classes and 10 folds (Salamon et al., 2014)."""

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
    "UrbanSound8K",
    "Zenodo (dataset DOI 10.5281/zenodo.1203745)",
    "metadata/UrbanSound8K.csv beside audio/fold1 to audio/fold10",
)


def load_us8k(folder: str | os.PathLike[str]) -> Published:
    """The dataset below a folder, in the order of its table.

    Raises
    ------
    InputError
        When the table or clips are missing; the message says which, and where to get them.
    """
    root = Path(folder)
    columns = ("slice_file_name", "fsID", "fold", "classID", "class")
    rows = read_table(root, ("metadata/UrbanSound8K.csv", "UrbanSound8K.csv"), columns, ORIGIN)
    folds = [whole_number(row, "fold", ORIGIN, root) for row in rows]
    names = [
        f"audio/fold{fold}/{row['slice_file_name']}" for row, fold in zip(rows, folds, strict=True)
    ]
    files = find_clips(root, names, ORIGIN)
    labels = [whole_number(row, "classID", ORIGIN, root) for row in rows]
    classes = class_names(labels, [row["class"] for row in rows], ORIGIN, root)
    sources = [row["fsID"] for row in rows]
    return Published("us8k", files, classes, labels, folds, sources=sources)

"""UrbanSound8K: 8732 clips of up to 4 s in 10 classes and 10 folds (Salamon et al., 2014)."""

from __future__ import annotations

import os

from prism_audio.datasets.published import DatasetOrigin, Published, load_numbered

ORIGIN = DatasetOrigin(
    "UrbanSound8K",
    "Zenodo (dataset DOI 10.5281/zenodo.1203745)",
    "metadata/UrbanSound8K.csv beside audio/fold1 to audio/fold10",
)


def load_us8k(folder: str | os.PathLike[str]) -> Published:
    """The dataset below a folder, in the order of its table; an error names what is missing."""
    tables = ("metadata/UrbanSound8K.csv", "UrbanSound8K.csv")
    columns = ("slice_file_name", "fold", "classID", "class", "fsID")
    place = "audio/fold{fold}/{name}"
    return load_numbered("us8k", folder, ORIGIN, tables, columns, place)

"""TAU Urban Acoustic Scenes 2019: 10 s recordings of 10 kinds of places (Mesaros et al., 2018).

Two sets share one layout. The *development* set (14,400 clips) was made with one recorder, device A.
The *mobile* development set adds parallel recordings by the telephones B and C: shift between devices
is found there. ``groups`` tells the device of every clip.
"""

from __future__ import annotations

import os
from pathlib import Path

from prism_audio.datasets.published import DatasetOrigin, Published, find_clips, read_table

ORIGIN = DatasetOrigin(
    "TAU Urban Acoustic Scenes 2019",
    "Zenodo (development set DOI 10.5281/zenodo.2589280, mobile set DOI 10.5281/zenodo.2589332)",
    "meta.csv and evaluation_setup/ beside audio/",
)
_REST, _TEST = 1, 2


def load_tau2019(folder: str | os.PathLike[str]) -> Published:
    """Clips with their scene and their device; fold 2 is the published test set, fold 1 the rest."""
    root = Path(folder)
    columns = ("filename", "scene_label", "identifier", "source_label")
    rows = read_table(root, ("meta.csv",), columns, ORIGIN, delimiter="\t")
    setup = ("evaluation_setup/fold1_test.csv", "evaluation_setup/fold1_evaluate.csv")
    test = {row["filename"] for row in read_table(root, setup, ("filename",), ORIGIN, "\t")}
    names = [row["filename"] for row in rows]
    stray = test - set(names)
    if stray:
        raise ORIGIN.missing(root, f"its test set names {min(stray)}, which meta.csv does not")
    files = find_clips(root, names, ORIGIN)
    classes = sorted({row["scene_label"] for row in rows})
    labels = [classes.index(row["scene_label"]) for row in rows]
    folds = [_TEST if name in test else _REST for name in names]
    devices = [row["source_label"] for row in rows]
    sources = [row["identifier"] for row in rows]
    return Published("tau2019", files, classes, labels, folds, devices, sources)


def tau_backgrounds(folder: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """The same recordings as backgrounds: for every kind of place its files, device A alone."""
    scenes = load_tau2019(folder)
    places: dict[str, list[Path]] = {}
    for file, label, device in zip(scenes.files, scenes.labels, scenes.groups, strict=True):
        if device == "a":
            places.setdefault(scenes.classes[label], []).append(file)
    return places

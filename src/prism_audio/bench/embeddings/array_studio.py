"""Embeddings that are read from array files, in place of mixing and embedding clips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.cache import Cache, array_digest
from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.embeddings.studio import ROOM, Progress, no_progress
from prism_audio.bench.experiment.array_files import ArrayFiles, read_array
from prism_audio.bench.experiment.conditions import Condition
from prism_audio.bench.experiment.experiment import Experiment
from prism_audio.bench.experiment.protocols import ClipTable
from prism_audio.errors import InputError
from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float32
from prism_audio.methods import Context

# Rows without folds are dealt out to so many in turn.
_FOLDS = 5


class ArrayStudio:
    """Reads the rows of any condition, and keeps them in the cache for the runner."""

    def __init__(self, name: str, files: ArrayFiles, folder: Path, cache: Cache) -> None:
        self.name, self.files, self.folder, self.cache = name, files, folder, cache
        self._paths: dict[Condition, Path] = {}

    @property
    def about(self) -> str:
        """What the report says about the embeddings."""
        names = sorted(
            {reference.partition(":")[0] for reference in self.files.conditions.values()}
        )
        return f"Embeddings and prototypes from array files: {', '.join(names)}."

    def path(self, condition: Condition) -> Path:
        """Its file in the cache, named by a hash of the rows."""
        if condition not in self._paths:
            rows = self.rows(self.files.conditions[condition.background])
            facts, name = {"array": array_digest(rows)}, self._name(condition)
            self._paths[condition] = self.cache.path(ROOM, name, facts)
            if not self._paths[condition].is_file():
                self.cache.save(ROOM, name, facts, {"embedding": rows})
        return self._paths[condition]

    def embedding(self, condition: Condition, progress: Progress = no_progress) -> Float32:
        """Unit rows (N, d); ``progress`` counts them."""
        rows = self.rows(self.files.conditions[condition.background])
        progress(len(rows))
        return rows

    def rows(self, reference: str) -> Float32:
        """Unit rows of an array file."""
        rows, _ = as_rows(read_array(self.folder, reference), reference)
        return np.asarray(unit_rows(rows.astype(np.float64)), np.float32)

    def _name(self, condition: Condition) -> str:
        plain = "".join(c if c.isalnum() or c in "-+" else "_" for c in condition.background)
        return f"{self.name}-{plain}"

    def context(self, needs: str, place: str) -> Context:
        """An error: array files hold embeddings and prototypes alone."""
        raise InputError(
            f"a method needs {needs} for {place!r}, which array files do not have; leave out of the "
            "experiment the methods that know the place or read further text (docs/methods.md)"
        )


def assemble_arrays(experiment: Experiment, folder: Path, cache: Cache) -> Bench:
    """Read labels and prototypes, and check that every condition fits them."""
    files = experiment.arrays
    if files is None:
        raise InputError(f"the experiment {experiment.name} names no arrays")
    studio = ArrayStudio(experiment.name, files, folder, cache)
    text = studio.rows(files.text)
    truth = read_array(folder, files.labels).astype(np.int64)
    if truth.ndim != 1 or truth.min(initial=0) < 0 or truth.max(initial=0) >= len(text):
        raise InputError(
            f"{files.labels} are no labels (N,) of the {len(text)} classes of {files.text}"
        )
    for name, reference in files.conditions.items():
        shape = read_array(folder, reference).shape
        if shape != (len(truth), text.shape[1]):
            raise InputError(
                f"the condition {name!r} ({reference}) has shape {shape}; labels and prototypes want "
                f"({len(truth)}, {text.shape[1]})"
            )

    def column(reference: str) -> NDArray[Any] | None:
        return read_array(folder, reference) if reference else None

    names, folds, groups = column(files.classes), column(files.folds), column(files.groups)
    sources = column(files.sources)
    rows = np.arange(len(truth))
    _, numbers = np.unique(rows if sources is None else sources, return_inverse=True)
    clips = ClipTable(
        truth,
        1 + rows % _FOLDS if folds is None else folds.astype(np.int64),
        experiment.recipe.seed,
        () if groups is None else tuple(map(str, groups)),
    )
    classes = [f"class {c}" for c in range(len(text))] if names is None else list(map(str, names))
    pairs = {name: studio.rows(reference) for name, reference in files.pairs.items()}
    return Bench(experiment, studio, text, clips, numbers, classes, pairs)

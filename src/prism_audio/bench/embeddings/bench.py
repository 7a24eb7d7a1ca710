"""An experiment with its data: everything that the trials need and no method changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.cache import Cache
from prism_audio.bench.embeddings.studio import Progress, no_progress
from prism_audio.bench.experiment.conditions import Condition
from prism_audio.bench.experiment.experiment import Experiment
from prism_audio.bench.experiment.protocols import ClipTable
from prism_audio.io.types import Float32
from prism_audio.methods import Context


class EmbeddingSource(Protocol):
    """Gives the embeddings of a condition: by mixing and embedding, or from array files."""

    cache: Cache

    @property
    def about(self) -> str:
        """What the report says about the embeddings."""

    def path(self, condition: Condition) -> Path:
        """The file of a condition in the cache."""

    def embedding(self, condition: Condition, progress: Progress = no_progress) -> Float32:
        """Unit rows (N, d) in the order of the dataset."""

    def context(self, needs: str, place: str) -> Context:
        """What a method needs besides embeddings and prototypes."""


@dataclass(frozen=True)
class Bench:
    """An experiment and its data."""

    experiment: Experiment  # with its places filled in
    studio: EmbeddingSource  # gives the embeddings of a condition
    text: Float32  # (C, d): prototypes of the classes
    clips: ClipTable  # truth and folds, for the protocols
    sources: NDArray[np.int64]  # (N,): the recording that each clip was cut from, as a number
    classes: Sequence[str]  # their names
    # Unit rows of clean clips and of the same clips under noise, by name; often empty.
    pairs: dict[str, Float32]

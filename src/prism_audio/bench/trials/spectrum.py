"""The rank of the noise: singular values of the difference it makes to embeddings.

    D = E_noisy - E_clean, clip by clip;    energy(k) = sum_{i<=k} sigma_i^2 / sum_i sigma_i^2

The paper takes a steep curve as evidence for its Affine Noise Hypothesis. A curve means little alone:
if embeddings of clean clips are as steep, so is any difference of embeddings. Therefore the clean
embeddings, and differences between unrelated clean clips, are shown beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.io.types import Float64
from prism_audio.model.diagnose import cumulative_energy, rank_of

# The paper's K.
RANK = 60


class Energy(NamedTuple):
    """Cumulative energy (r,) of the singular values of a matrix."""

    name: str
    curve: Float64

    @property
    def within_rank(self) -> float:
        """Share of the energy within the first 60 directions."""
        return float(self.curve[min(RANK, len(self.curve)) - 1])

    @property
    def rank_for_share(self) -> int:
        """Directions that hold 90 % of the energy."""
        return rank_of(self.curve)


def energy(name: str, X: NDArray[np.floating], centre: bool = False) -> Energy:
    """Energy of the rows of ``X``, or of their deviations from the mean."""
    rows = np.asarray(X, np.float64)
    return Energy(name, cumulative_energy(rows - rows.mean(axis=0) if centre else rows))


def references(clean: NDArray[np.floating], seed: int = 0) -> list[Energy]:
    """The curves that a shift is compared with."""
    other = np.random.default_rng(seed).permutation(len(clean))
    return [
        energy("clean embeddings", clean, centre=True),
        energy("unrelated pairs of clean clips", clean - clean[other]),
    ]

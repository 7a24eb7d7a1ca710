"""The rank of the noise: what it does to embeddings, clip by clip.

    D = E_noisy - E_clean;    energy(k) = sum_{i<=k} sigma_i^2 / sum_i sigma_i^2

The paper takes a steep curve as evidence for its Affine Noise Hypothesis. A curve means little alone:
if embeddings of clean clips are as steep, so is any difference of embeddings. Therefore the clean
embeddings, and differences between unrelated clean clips, stand beside it, and how much of D its mean
and an affine map of the clean row explain on clips that the map was not fitted to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.io.types import Float, Float64
from prism_audio.model.diagnose import cumulative_energy, rank_of, shift_of

# The paper's K.
RANK = 60


class Energy(NamedTuple):
    """Cumulative energy (r,) of the singular values of a matrix.

    ``translation`` and ``affine`` are the shares of a shift that its mean and an affine map of the
    clean rows explain; None for other matrices.
    """

    name: str
    curve: Float64
    translation: float | None = None
    affine: float | None = None

    @property
    def within_rank(self) -> float:
        """Share of the energy within the first 60 directions."""
        return float(self.curve[min(RANK, len(self.curve)) - 1])

    @property
    def rank_for_share(self) -> int:
        """Directions that hold 90 % of the energy."""
        return rank_of(self.curve)


def shift_energy(name: str, clean: Float, noisy: Float) -> Energy:
    """Energy of the shift from ``clean`` to ``noisy``, row by row."""
    shift = shift_of(clean, noisy)
    return Energy(name, shift.energy, shift.translation, shift.affine)


def references(clean: Float, seed: int = 0) -> list[Energy]:
    """The curves that a shift is compared with."""
    rows = np.asarray(clean, np.float64)
    other = np.random.default_rng(seed).permutation(len(rows))
    return [
        Energy("clean embeddings", cumulative_energy(rows - rows.mean(axis=0))),
        Energy("unrelated pairs of clean clips", cumulative_energy(rows - rows[other])),
    ]

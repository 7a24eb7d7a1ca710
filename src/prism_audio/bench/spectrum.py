"""How low the rank of the noise is: singular values of what it does to the embeddings.

    D = E_noisy - E_clean, clip by clip;    energy(k) = sum_{i<=k} sigma_i^2 / sum_i sigma_i^2

The paper takes a steep curve as evidence for its Affine Noise Hypothesis. A curve means little by
itself: if embeddings of clean clips are as steep, then any difference of embeddings will be. So the
clean embeddings, and differences between pairs of unrelated clean clips, are shown beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.io.types import Float64

RANK = 60
SHARE = 0.9


class Energy(NamedTuple):
    """Cumulative energy (r,) of the singular values of a matrix, and what is to be read from it."""

    name: str
    curve: Float64

    @property
    def within_rank(self) -> float:
        """Share of the energy within the first 60 directions, the paper's K."""
        return float(self.curve[min(RANK, len(self.curve)) - 1])

    @property
    def rank_for_share(self) -> int:
        """Directions that hold nine tenths of the energy."""
        return int(np.searchsorted(self.curve, SHARE - 1e-12) + 1)


def energy(name: str, X: NDArray[np.floating], centre: bool = False) -> Energy:
    """Energy of the rows of ``X``, or of their deviations from the mean."""
    rows = np.asarray(X, np.float64)
    if centre:
        rows = rows - rows.mean(axis=0)
    # The Gram matrix of the columns has the squares of the singular values.
    squares = np.linalg.eigvalsh(rows.T @ rows)[::-1].clip(min=0)
    return Energy(name, np.cumsum(squares) / max(squares.sum(), np.finfo(float).tiny))


def references(clean: NDArray[np.floating], seed: int = 0) -> list[Energy]:
    """What a shift is compared with."""
    other = np.random.default_rng(seed).permutation(len(clean))
    return [
        energy("clean embeddings", clean, centre=True),
        energy("unrelated pairs of clean clips", clean - clean[other]),
    ]

"""The k nearest rows by cosine, by blocks: memory grows with N k, not with N^2."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from prism_audio.geometry.sphere import Labels
from prism_audio.io.types import Float64

# Cosines held at a time: 32 MB of them.
CELLS = 2**22


def nearest(X: Float64, among: Float64, k: int, *, itself: bool = False) -> tuple[Labels, Float64]:
    """Indices and cosines (n, k) of the ``k`` rows of ``among`` nearest to every row of ``X``.

    With ``itself`` the two are the same rows, and none is its own neighbour. There may be fewer
    than ``k`` columns when there are fewer rows.
    """
    k = min(k, len(among) - itself)
    index = np.empty((len(X), k), dtype=np.intp)
    cosine = np.empty((len(X), k))
    block = max(CELLS // max(len(among), 1), 1)
    for start in range(0, len(X), block):
        rows = slice(start, start + block)
        S = X[rows] @ among.T
        if itself:
            own = np.arange(len(S))
            S[own, start + own] = -np.inf
        top = np.argpartition(-S, max(k - 1, 0), axis=1)[:, :k]
        index[rows] = top
        cosine[rows] = np.take_along_axis(S, top, axis=1)
    return index, cosine


def graph(index: Labels, weight: Float64, columns: int) -> sparse.csr_array:
    """Sparse matrix (n, columns) with ``weight`` at every row's ``index``."""
    n, k = index.shape
    start = np.arange(0, n * k + 1, k) if k else np.zeros(n + 1, dtype=np.intp)
    return sparse.csr_array((weight.ravel(), index.ravel(), start), shape=(n, columns))

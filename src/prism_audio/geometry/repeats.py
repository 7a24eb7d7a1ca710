"""How many independent clips a batch is worth: repeats and windows of one recording count once.

    x_i = normalize(e_i - m),     worth = sum_i 1 / |{j : <x_i, x_j>^2 > 0.9}|

Two rows that share nine tenths of what sets them apart from the middle of the batch are the same
sound twice: a clip that came again, or overlapping windows. They tell of the place once. Clips of one
class that were recorded apart share less (in the spaces that were looked at, one pair in a hundred
reaches it).
"""

from __future__ import annotations

import numpy as np

from prism_audio.geometry.products import Float, product
from prism_audio.geometry.sphere import row_norms

SHARED = 0.9
# Rows that are compared with each other; of a larger batch this many tell the part that is new.
COMPARED = 1024


def independent_clips(rows: Float, N: int) -> float:
    """How many independent clips ``N`` rows are worth, by the sample ``rows`` (n, d) of them.

    A sample holds fewer of the repeats of a clip, so a large batch is overrated rather than not.
    """
    X = rows - rows.mean(axis=0)
    norms = row_norms(X)
    # A row at the very middle is like no other, unless all rows are there.
    X = X[norms > 1e-6] / norms[norms > 1e-6, None]
    if not len(X):
        return 1.0
    same = product(X, X.T)
    alike = np.sum(same > np.sqrt(SHARED), axis=1)
    worth = float(np.sum(1 / np.maximum(alike, 1))) + (len(rows) - len(X))
    return N * worth / len(rows)

"""How many independent clips a batch is worth: repeats and windows of one recording count once.

    x_i = normalize(e_i - m),     worth = sum_i 1 / |{j : <x_i, x_j>^2 > 0.9}|

Two rows that share nine tenths of what sets them apart from the middle of the batch are the same
sound twice: a clip that came again, or overlapping windows. They tell of the place once. Clips of one
class that were recorded apart share less (in the spaces that were looked at, one pair in a hundred
reaches it).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, product
from prism_audio.geometry.sphere import Labels, row_norms

SHARED = 0.9
# Rows that are compared with each other; of a larger batch this many tell the part that is new.
COMPARED = 1024


class Repeats(NamedTuple):
    """What comparing clips with each other tells.

    Attributes
    ----------
    likeness : (n, n) array
        Cosines <x_i, x_j>.
    first : (m,) array
        One of each kind of clips that are alike: those that are like none nearer to the middle.
    worth : float
        How many independent clips there are.
    """

    likeness: Float
    first: Labels
    worth: float


def find_repeats(rows: Float) -> Repeats:
    """Which of the ``rows`` (n, d) are alike, and what all are worth."""
    X = rows - rows.mean(axis=0)
    norms = row_norms(X)
    # A row at the very middle is like no other, unless all rows are there.
    middle = norms <= 1e-6
    X[~middle] /= norms[~middle, None]
    X[middle] = 0
    likeness = product(X, X.T)
    alike = likeness > np.sqrt(SHARED)
    if middle.all():
        return Repeats(likeness, np.zeros(1, np.intp), 1.0)
    np.fill_diagonal(alike, True)
    # From the middle outwards, so that the order of the rows does not matter.
    order = np.argsort(norms)
    earliest = alike[np.ix_(order, order)].argmax(axis=1)
    first = np.sort(order[earliest == np.arange(len(rows))])
    return Repeats(likeness, first, float(np.sum(1 / alike.sum(axis=1))))


def independent_clips(found: Repeats, N: int) -> float:
    """How many independent clips ``N`` rows are worth, by a sample of them that was compared.

    A sample holds fewer of the repeats of a clip, so a large batch is overrated rather than not.
    """
    return N * found.worth / len(found.likeness)

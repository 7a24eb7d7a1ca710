"""Overlap of a class's spread with what deflation removes: the evidence of the Polyphonic Trap.

    S_c       = sum_(i in c) (e_i - mu_c)(e_i - mu_c)^T
    removed_c = 1 - tr(G S_c G) / tr(S_c)

G is the gain of the deflation: I - V V^T for the cut of CCVD, or the soft gain. A class that is
recognised by a rich spread loses with it what it is recognised by. The paper's rank rule says when
some overlap is unavoidable: rank(S_c) + K > d, with K = d - tr(G) directions deflated. It says nothing
of how much, and of few clips it cannot hold; the fraction is the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_audio.geometry.ccvd import NO_SCATTER, RANK_TOLERANCE
from prism_audio.geometry.products import Float, Float64
from prism_audio.geometry.sphere import Labels, class_means

# A class whose spread is measured on fewer clips says nothing about the class.
MEMBERS = 5
# A class in the trap keeps less than this part of what classes usually keep.
SHARE = 0.5


@dataclass(frozen=True)
class Overlap:
    """What deflation takes from every class.

    Attributes
    ----------
    removed : (C,) array
        Fraction of the class's own variance that is removed; NaN for a class without spread.
    rank : (C,) array
        Rank of the class's scatter.
    members : (C,) array
        Rows of the class.
    K : float
        Directions deflated, d - tr(G).
    d : int
        Width of the space.
    """

    removed: Float64
    rank: NDArray[np.intp]
    members: NDArray[np.intp]
    K: float
    d: int

    @property
    def rank_rule(self) -> NDArray[np.bool_]:
        """For every class whether rank(S_c) + K > d."""
        return np.asarray(self.rank + self.K > self.d + 1e-9)

    @property
    def trapped(self) -> NDArray[np.bool_]:
        """For every class whether it sits in the trap.

        It does where it keeps less than :data:`SHARE` of what the classes of this batch usually
        keep of their spread (the median). The rank rule takes no part: in a large batch every
        class has full rank, and it holds for all of them.
        """
        counted = (self.members >= MEMBERS) & np.isfinite(self.removed)
        if not counted.any():
            return np.zeros(len(self.removed), dtype=bool)
        kept = 1 - np.where(counted, self.removed, 0.0)
        return np.asarray(kept < SHARE * np.median(kept[counted]))


def cut(V: Float) -> Float64:
    """The gain I - V V^T of a hard deflation with orthonormal ``V`` (d, k)."""
    return np.asarray(np.eye(len(V)) - V.astype(np.float64) @ V.T)


def class_overlap(E: Float, y: Labels, C: int, gain: Float) -> Overlap:
    """Overlap of the classes ``y`` (N,) of rows ``E`` (N, d) with the symmetric ``gain`` (d, d)."""
    d = len(gain)
    mu_c, n_c = class_means(E, y, C, np.ones(len(E), dtype=E.dtype))
    removed, rank = np.full(C, np.nan), np.zeros(C, dtype=np.intp)
    order = np.argsort(y, kind="stable")
    for c, rows in enumerate(np.split(order, np.cumsum(n_c.astype(np.intp))[:-1])):
        X = E[rows].astype(np.float64) - mu_c[c]
        spread = float(np.vdot(X, X))
        if len(X) < 2 or spread <= NO_SCATTER * len(X):
            continue
        kept = X @ gain
        removed[c] = 1 - np.vdot(kept, kept) / spread
        # Whichever of the two Gram matrices is smaller; their eigenvalues are the same.
        values = np.linalg.eigvalsh(X @ X.T if len(X) < d else X.T @ X)
        rank[c] = np.sum(values > RANK_TOLERANCE * values[-1])
    return Overlap(removed, rank, n_c.astype(np.intp), d - float(np.trace(gain)), d)

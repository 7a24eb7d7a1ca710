"""ZLaP: label propagation from the texts along a graph of nearest neighbours.

    nodes: C texts and N clips;   w_ij = max(<i, j>, 0) between clips, its power gamma to a text
    S = D^(-1/2) (W + W^T) D^(-1/2),     (I - alpha S) Z = Y,     y_i = argmax_c Z_ic

Y has a one for every text at its own class. Every clip is linked to its k nearest clips and,
separately, to its k nearest texts: one search would find no texts because of the modality gap. Texts
are not linked to each other.

Source: Stojnic, Kalantidis and Tolias, "Label Propagation for Zero-shot Classification with
Vision-Language Models", CVPR 2024 (k = 5, gamma = 5, alpha = .3 as in its example). Deviations: an
unseen clip takes the mean of Z over its own neighbours, with the same weights: the paper's inductive
rule without its sparse dual form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from prism_audio.errors import InputError
from prism_audio.geometry.sphere import Labels
from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod
from prism_audio.methods.neighbours import graph, nearest

# Of the residual of the linear system, relative to its right-hand side.
TOLERANCE = 1e-8


@dataclass(frozen=True)
class ZLaP(RowMethod):
    """Label propagation."""

    k: int = 5  # neighbours of a clip among clips, and among texts
    # Power of a cosine between clip and text that makes it a weight; it sharpens the texts, whose
    # cosines lie closer together.
    gamma: float = 5.0
    alpha: float = 0.3  # how far labels flow, between 0 and 1

    name = "zlap"
    origin = "Stojnic et al., ZLaP, CVPR 2024"
    kind = Kind.RIVAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha >= 1:
            raise InputError(f"zlap: alpha={self.alpha!r}; wanted a number below 1")

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        C, d = T.shape
        to_nodes = self._links(E, E, T, itself=True)
        W = sparse.vstack([sparse.csr_array((C, C + len(E))), to_nodes]).tocsr()
        Z = propagate(W + W.T, np.eye(C + len(E), C), self.alpha)

        def serve(X: Float64) -> Labels:
            return label(self._links(X, E, T) @ Z, X @ T.T)

        return Fitted(label(Z[C:], E @ T.T), d, serve, Z.size + E.size + T.size)

    def _links(self, X: Float64, E: Float64, T: Float64, itself: bool = False) -> sparse.csr_array:
        """Weights (n, C + N) from every row of ``X`` to its nearest texts and clips."""
        parts = []
        for among, own in ((T, False), (E, itself)):
            index, cosine = nearest(X, among, self.k, itself=own)
            weight = np.maximum(cosine, 0) ** (1.0 if among is E else self.gamma)
            parts.append(graph(index, weight, len(among)))
        return sparse.hstack(parts).tocsr()


def propagate(W: sparse.csr_array, Y: Float64, alpha: float) -> Float64:
    """Z of (I - alpha D^(-1/2) W D^(-1/2)) Z = Y for symmetric ``W``, a class at a time."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    half = sparse.diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1)))
    system = sparse.eye_array(len(Y)) - alpha * (half @ W @ half)
    return np.column_stack([cg(system, y, rtol=TOLERANCE)[0] for y in Y.T])


def label(Z: Float64, cosines: Float64) -> Labels:
    """argmax of ``Z``; a clip that no label has reached gets its nearest text."""
    reached = Z.max(axis=1) > 0
    return np.asarray(np.where(reached, Z.argmax(axis=1), cosines.argmax(axis=1)))

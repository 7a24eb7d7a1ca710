"""SubTTA in embedding space: rotate the principal subspace of the audio onto that of the text.

    U_t = right singular vectors of T without the first,   U_a = as many principal axes of E - mean(E)
    O   = polar factor of U_a^T U_t
    score_ic = <(e_i - mean(E)) U_a O U_t^T, t_c>

The first text direction is what all prototypes share and tells no class from another. The chordal
distance between the subspaces, d^2 = k - |U_a^T U_t|_F^2, is brought to zero by the rotation of
space that takes U_a onto U_t along the shortest way (a geodesic: every principal vector to its
partner); what is left outside U_t is projected away. Rotation and projection together are
U_a O U_t^T.

Source: Zeng et al., "Subspace Alignment for Vision-Language Model Test-time Adaptation", 2026.
Deviations: the published method lowers the chordal distance by gradients on the normalisation layers
of the encoder and adds another method's loss on top. With embeddings alone there are no layers; here
the minimum over rotations is reached in closed form, and nothing is added. The subspaces have all
C - 1 dimensions of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod, linear_head

# Directions of less than this fraction of the largest singular value are rounding.
RANK_TOLERANCE = 1e-8


def principal_axes(X: Float64, skip: int = 0) -> Float64:
    """Right singular vectors (d, r) of ``X`` after the first ``skip``, largest first."""
    _, sigma, Vt = linalg.svd(X, full_matrices=False, check_finite=False)
    rank = int(np.sum(sigma > RANK_TOLERANCE * sigma[0])) if sigma[0] > 0 else 0
    return np.asarray(Vt[skip:rank].T)


@dataclass(frozen=True)
class SubTTA(RowMethod):
    """Align the principal subspaces of audio and text."""

    name = "subtta"
    origin = "Zeng et al., 2026, in embedding space"
    kind = Kind.BLIND

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        mean = E.mean(axis=0)
        U_t, U_a = principal_axes(T, skip=1), principal_axes(E - mean)
        k = min(U_t.shape[1], U_a.shape[1])
        if k == 0:  # one class, or all clips alike: no subspace to align
            return linear_head(E, T.T)
        U_t, U_a = U_t[:, :k], U_a[:, :k]
        X, _, Yt = linalg.svd(U_a.T @ U_t, check_finite=False)
        A = U_a @ ((X @ Yt) @ (U_t.T @ T.T))
        return linear_head(E, A, -mean @ A)

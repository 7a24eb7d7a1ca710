"""Compilation by composition: the map as the product of its explicit parts.

    S_W   from the original rows and the labels of the last round
    G     = (S_W + rho tr(S_W)/d I)^(-1/2), scaled to keep the mean variance      (soft deflation)
    M_n   = class means of E G,   R* as in OPCA and s = |M_t - mu_t| / |M_n - mu_n|
    W     = [s G R*;  mu_t - s mu_n R*] / mean length of its rows

Whitening, rotation, scale and means are known matrices, so their product needs no regression. ABR
fits (d + 1) d numbers to N rows and, where N is not much larger than d, remembers the batch; the
composition has nothing to remember it with, and does better on clips it has not seen. Not in the
paper.
"""

from __future__ import annotations

import numpy as np

from prism_audio.geometry.ccvd import scatter_within
from prism_audio.geometry.opca import closest_rotation
from prism_audio.geometry.products import Float, Float64, add_product, length, product, row_blocks
from prism_audio.geometry.soft import soft_gain
from prism_audio.geometry.sphere import Labels, class_means, row_norms


def compose(E: Float, T: Float, y: Labels, *, rho: float, eps: float) -> Float64:
    """The affine map W (d + 1, d) for unit rows ``E`` (N, d) with labels ``y`` and prototypes ``T``.

    Its rows have mean length one over the batch, as those of the identity have, so that a mixture of
    the two means what its weights say. Fewer than two classes determine no map: the identity.
    """
    C, d = T.shape
    mu_c, n_c = class_means(E, y, C, np.ones(len(E), dtype=E.dtype))
    seen = n_c > 0
    if seen.sum() < 2:
        return np.eye(d + 1, d)
    S_W = scatter_within(E, y, mu_c, np.ones(len(E), dtype=bool))
    G = np.sqrt((1 + rho) / rho) * soft_gain(S_W, rho)
    M_n, M_t = product(mu_c[seen], G), T[seen].astype(np.float64)
    mu_n, mu_t = M_n.mean(axis=0), M_t.mean(axis=0)
    A, B = M_n - mu_n, M_t - mu_t
    Z, R_z = closest_rotation(A, B)
    # Not clamped as in OPCA: nothing comes after it that could make up for classes left too close,
    # and then <mu_t, t_c> alone would decide.
    s = float(length(B) / (length(A) + eps))
    turn = product(R_z - np.eye(len(R_z)), Z.T)
    W = s * np.vstack([G, -mu_n])
    add_product(W, product(W, Z), turn)
    W[d] += mu_t
    return np.asarray(W / mean_length(E, W))


def mean_length(E: Float, W: Float64) -> float:
    """Mean over the batch of |[e | 1] W|."""
    W_lin, b = W[:-1].astype(E.dtype), W[-1].astype(E.dtype)
    total = sum(float(row_norms(product(E[rows], W_lin) + b).sum()) for rows in row_blocks(len(E)))
    return total / len(E)


def towards_identity(W: Float64, weight: float) -> Float64:
    """weight W + (1 - weight) [I; 0]: as much of a correction as the evidence carries."""
    return np.asarray(weight * W + (1 - weight) * np.eye(*W.shape))

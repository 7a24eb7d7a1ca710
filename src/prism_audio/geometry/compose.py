"""Compilation by composition: the map as the product of its explicit parts.

    S_W   from the original rows and the labels of the last round
    G     = (S_W + rho tr(S_W)/d I)^(-1/2), scaled to keep the mean variance      (soft deflation)
    M_n   = class means of E G,   R* as in OPCA and s = |M_t - mu_t| / |M_n - mu_n|
    W     = [s G R*;  mu_t - s mu_n R*] / root mean square of |[e | 1] W|

Whitening, rotation, scale and means are known matrices, so their product needs no regression. ABR
fits (d + 1) d numbers to N rows and, where N is not much larger than d, remembers the batch; the
composition has nothing to remember it with, and does better on clips it has not seen. Not in the
paper.
"""

from __future__ import annotations

import numpy as np

from prism_audio.geometry.abr import second_moments
from prism_audio.geometry.ccvd import within
from prism_audio.geometry.opca import closest_rotation
from prism_audio.geometry.products import Float, Float64, add_product, inner, length, product
from prism_audio.geometry.rows import original, weighted_means
from prism_audio.geometry.soft import soft_gain
from prism_audio.geometry.source import InMemory
from prism_audio.geometry.sphere import Labels


def composition(
    G_E: Float64, means: Float64, n_c: Float64, T: Float, *, rho: float, eps: float
) -> Float64:
    """The affine map W (d + 1, d) of a labelled batch, from its moments alone.

    Its rows have a root mean square length of one over the batch, as those of the identity have, so
    that a mixture of the two means what its weights say. Fewer than two classes determine no map: the
    identity.

    Parameters
    ----------
    G_E : (d + 1, d + 1) array
        Gram matrix of [E | 1].
    means, n_c : (C, d) and (C,) arrays
        Means of the classes and how many rows each has.
    T : (C, d) array
        Unit prototypes.
    rho, eps : float
        Floor of the gain, stability constant of the scale.
    """
    d = T.shape[1]
    seen = n_c > 0
    if seen.sum() < 2:
        return np.eye(d + 1, d)
    mu_c = means[seen]
    S_W = within(G_E[:d, :d], mu_c, n_c[seen])
    G = np.sqrt((1 + rho) / rho) * soft_gain(S_W, rho)
    M_n, M_t = product(mu_c, G), T[seen].astype(np.float64)
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
    return np.asarray(W / root_mean_square(G_E, W))


def compose(E: Float, T: Float, y: Labels, *, rho: float, eps: float) -> Float64:
    """The affine map W (d + 1, d) for unit rows ``E`` (N, d) with labels ``y`` and prototypes ``T``."""
    source, C = InMemory(E), len(T)
    means, n_c = weighted_means(original(source, T).X, y, C, np.ones(len(E), E.dtype))
    return composition(second_moments(source), means, n_c, T, rho=rho, eps=eps)


def root_mean_square(G_E: Float64, W: Float64) -> float:
    """Root of the mean over the batch of |[e | 1] W|^2."""
    return float(np.sqrt(inner(W, product(G_E, W)) / G_E[-1, -1]))


def towards_identity(W: Float64, weight: float) -> Float64:
    """weight W + (1 - weight) [I; 0]: as much of a correction as the evidence carries."""
    return np.asarray(weight * W + (1 - weight) * np.eye(*W.shape))

"""Compilation by composition: the map as the product of its explicit parts.

    S_W   from the original rows and the labels of the last round
    G     = (S_W + rho tr(S_W)/d I)^(-1/2), scaled to keep the mean variance      (soft deflation)
    M_n^c = (n_c mu_c + a (m + b (t_c - t))) / (n_c + a),   a = 1/2,   then times G
    R     as in OPCA, with its prior, and s = |M_t - mu_t| / |M_n - mu_n|
    W     = [s G R;  mu_t - s mu_n R], scaled so that its scores scatter over the classes as far as
            those of zero-shot

Whitening, rotation, scale and means are known matrices, so their product needs no regression. ABR
fits (d + 1) d numbers to N rows and, where N is not much larger than d, remembers the batch; the
composition has little to remember it with, and does better on clips it has not seen.

A class of which the batch holds no clip would be missing in mu_n, mu_t and s, and lose to those that
are there. It stands where the text puts it: m and t are the means of the centroids and of the
prototypes, b is the slope of the centroids on the prototypes. One clip outweighs that. Not in the paper.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from prism_audio.geometry.ccvd import within
from prism_audio.geometry.opca import rotation
from prism_audio.geometry.products import Float, Float64, add_product, inner, length, product
from prism_audio.geometry.soft import soft_gain
from prism_audio.geometry.source import Answer, Source
from prism_audio.geometry.sphere import Labels, class_sums

# Clips that the text counts for in the centroid of a class.
TEXT_CLIPS = 0.5


def compose(
    source: Source,
    second: Float64,
    T: Float,
    y: Labels,
    *,
    rho: float,
    eps: float,
    prior: float = 0.0,
) -> Float64:
    """The affine map W (d + 1, d) for unit rows with labels ``y``, moments ``second`` = E^T E.

    Its scores scatter as far as those of the identity, so that a mixture of the two means what its
    weights say. Fewer than two classes determine no map: the identity.
    """
    C, d = T.shape
    n_c = np.bincount(y, minlength=C).astype(np.float64)
    if np.sum(n_c > 0) < 2:
        return np.eye(d + 1, d)
    (sums,) = source.scan(partial(_class_sums, C=C), y).sums
    mu_c = sums / np.maximum(n_c, 1)[:, None]
    G = np.sqrt((1 + rho) / rho) * soft_gain(within(second, mu_c, n_c), rho)
    M_t = T.astype(np.float64)
    M_n = product(with_text(mu_c, n_c, M_t), G)
    mu_n, mu_t = M_n.mean(axis=0), M_t.mean(axis=0)
    A, B = M_n - mu_n, M_t - mu_t
    Z, R_z = rotation(A, B, prior)
    # Not clamped as in OPCA: nothing comes after it that could make up for classes left too close,
    # and then <mu_t, t_c> alone would decide.
    s = float(length(B) / (length(A) + eps))
    turn = product(R_z - np.eye(len(R_z)), Z.T)
    W = s * np.vstack([G, -mu_n])
    add_product(W, product(W, Z), turn)
    W[d] += mu_t
    heads = [product(M, M_t.T) for M in (np.eye(d + 1, d), W)]
    ((before, after),) = source.scan(partial(_scatter_of_scores, heads=heads)).sums
    return np.asarray(W * (before / after if after > 0 else 1.0))


def with_text(mu_c: Float64, n_c: Float64, T: Float64) -> Float64:
    """Class means (C, d) in which the text stands for :data:`TEXT_CLIPS` clips of every class."""
    share = n_c / (n_c + TEXT_CLIPS)
    m, t = (product(share[None], X) / share.sum() for X in (mu_c, T))
    deviations = share[:, None] * (T - t)
    square = inner(deviations, T - t)
    b = inner(deviations, mu_c - m) / square if square > 0 else 0.0
    return np.asarray(share[:, None] * mu_c + (1 - share)[:, None] * (m + b * (T - t)))


def _class_sums(E: Float, y: Labels, *, C: int) -> Answer:
    return Answer(sums=(class_sums(E, y, C, np.ones(len(E), E.dtype)),))


def _scatter_of_scores(E: Float, *, heads: list[Float64]) -> Answer:
    """Sum over rows of the standard deviation over the classes of [e | 1] head, for every head."""
    spreads = [
        (product(E, head[:-1].astype(E.dtype)) + head[-1].astype(E.dtype)).std(axis=1).sum()
        for head in heads
    ]
    return Answer(sums=(np.array(spreads),))


def towards_identity(W: Float64, weight: float) -> Float64:
    """weight W + (1 - weight) [I; 0]: as much of a correction as the evidence carries."""
    return np.asarray(weight * W + (1 - weight) * np.eye(*W.shape))

"""Class-Conditioned Variance Deflation (CCVD).

    S_W = sum_c sum_(i in c) (e_i - mu_c)(e_i - mu_c)^T,   S_B = sum_c n_c (mu_c - mu)(mu_c - mu)^T
    F   = (S_B + eps I)^-1 S_W,        V_K = its K leading eigenvectors
    E_ccvd = normalize(E' (I - V_K V_K^T))

over the confident set F = {i : kappa_i >= Q_(1-q)(kappa)}. F is not symmetric: its eigenvectors are
those of S_W v = lambda (S_B + eps I) v. S_B has rank at most C - 1, so with its thin eigenvectors Q
and eigenvalues b

    G = sqrt(eps) (S_B + eps I)^(-1/2) = I - Q diag(1 - sqrt(eps / (b + eps))) Q^T

is explicit, the problem becomes the symmetric one of G S_W G, and v = G u. The v are not orthogonal;
only an orthonormal basis of their span makes I - V V^T a projector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from prism_audio.geometry.products import Float, Float64, add_product, gram, product, row_blocks
from prism_audio.geometry.sphere import Labels, Mask, assign, class_means, gate, normalise

# A direction whose variance is below this fraction of the largest one is no part of the rank of S_W:
# it is rounding in float32, and nothing worth deleting in float64.
RANK_TOLERANCE = 1e-5
# Variance a row (of unit length) below which a class is a point.
NO_SCATTER = 1e-7


@dataclass(frozen=True)
class Scatter:
    """Scatter of a confident set: S_W (d, d), the factor B of S_B = B^T B (C, d), and the gate."""

    S_W: Float64
    B: Float64
    tau: float
    kept: int
    classes: int

    @property
    def rank_bound(self) -> int:
        """S_W cannot have more directions than rows less one mean for every class."""
        return max(self.kept - self.classes, 0)


def scatter_within(E: Float, y: Labels, mu_c: Float64, kept: Mask) -> Float64:
    """S_W of the kept rows about the means ``mu_c`` (C, d) of their classes."""
    centres = mu_c.astype(E.dtype)

    def centred() -> Iterator[Float]:
        for rows in row_blocks(len(E)):
            members = kept[rows]
            X = E[rows][members]
            X -= centres[y[rows][members]]
            yield X

    return gram(centred(), E.shape[1])


def find_scatter(E: Float, T: Float, q: float) -> Scatter:
    """Within- and between-class scatter of the top-``q`` fraction of ``E`` under its pseudo-labels."""
    C = len(T)
    y, kappa = assign(E, T)
    confident, tau = gate(kappa, q)
    mu_c, n_c = class_means(E, y, C, confident.astype(E.dtype))
    mu = (n_c[:, None] * mu_c).sum(axis=0) / n_c.sum()
    B = np.sqrt(n_c)[:, None] * (mu_c - mu)

    S_W = scatter_within(E, y, mu_c, confident)
    return Scatter(S_W, B[n_c > 0], tau, int(confident.sum()), int(np.sum(n_c > 0)))


def noise_subspace(scatter: Scatter, K: int, eps: float, dtype: np.dtype) -> Float:
    """V_K: orthonormal basis (d, k) of the k <= K leading eigenvectors of (S_B + eps I)^-1 S_W.

    k never exceeds the rank of S_W (few clips) nor d - C (something must remain to tell classes
    apart). The eigenproblem is solved in ``dtype``, the precision of the rows behind the scatter.
    """
    d = len(scatter.S_W)
    k = min(K, scatter.rank_bound, d - scatter.classes)
    if k <= 0:
        return np.empty((d, 0), dtype=dtype)
    b, Q = linalg.eigh(product(scatter.B, scatter.B.T), check_finite=False)
    seen = b > b[-1] * 1e-12
    Qt = product((Q[:, seen] / np.sqrt(b[seen])).T, scatter.B).astype(dtype)
    shrunk = Qt.T * (1 - np.sqrt(eps / (b[seen] + eps))).astype(dtype)

    # G S_W G without forming G: two corrections of rank C.
    M = scatter.S_W.astype(dtype)
    add_product(M, shrunk, product(Qt, M), factor=-1.0)
    add_product(M, product(M, shrunk), Qt, factor=-1.0)
    values, u = linalg.eigh(M, subset_by_index=(d - k, d - 1), check_finite=False)
    u = u[:, values > max(RANK_TOLERANCE * values[-1], NO_SCATTER * scatter.kept)]
    v = u - product(shrunk, product(Qt, u))
    V, _ = linalg.qr(v, mode="economic", check_finite=False)
    return np.asarray(V)


def deflate(E: Float, V: Float) -> Float:
    """normalize(E (I - V V^T)), in place."""
    for rows in row_blocks(len(E)):
        block = E[rows]
        add_product(block, product(block, V), V.T, factor=-1.0)
        normalise(block, out=block)
    return E


def ccvd(E: Float, T: Float, *, K: int = 60, q: float = 0.7, eps: float = 1e-4) -> Float:
    """Copy of unit rows ``E`` (N, d) without the K directions that vary most within classes."""
    return deflate(E.copy(), noise_subspace(find_scatter(E, T, q), K, eps, E.dtype))

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

from dataclasses import dataclass
from functools import partial

import numpy as np

from prism_audio.geometry.products import (
    Float,
    Float64,
    add_product,
    gram,
    product,
)
from prism_audio.geometry.rows import Head, Labelled, Rows, dots, extended, formed, original
from prism_audio.geometry.source import InMemory, ScanResult
from prism_audio.geometry.sphere import Labels, Mask, best, class_sums, gate, row_norms

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


def find_scatter(rows: Labelled, C: int, q: float) -> Scatter:
    """Within- and between-class scatter of the top-``q`` fraction under the pseudo-labels."""
    X, y, _ = rows
    kept, tau = gate(rows.kappa, q)
    G, sums = X.scan(partial(_moments, C=C), y, kept).sums
    n_c = np.bincount(y[kept], minlength=C).astype(np.float64)
    Z = X.Z
    mu_c = product(sums.astype(Z.dtype), Z) / np.maximum(n_c, 1)[:, None]
    mu = (n_c[:, None] * mu_c).sum(axis=0) / n_c.sum()
    B = np.sqrt(n_c)[:, None] * (mu_c - mu)
    second = product(Z.T, product(G.astype(Z.dtype), Z)).astype(np.float64)
    S_W = within(second, mu_c, n_c)
    return Scatter(S_W, B[n_c > 0], tau, int(n_c.sum()), int(np.sum(n_c > 0)))


def within(second: Float64, mu_c: Float64, n_c: Float64) -> Float64:
    """S_W from the second moments of rows (d, d), the means of their classes and their numbers.

    Where classes are points the difference is rounding, and there is no scatter.
    """
    S_W: Float64 = second - product(mu_c.T * n_c, mu_c)
    return S_W if np.trace(S_W) > NO_SCATTER * n_c.sum() else np.zeros_like(S_W)


def _moments(E: Float, g: Float, U: Float, y: Labels, kept: Mask, *, C: int) -> ScanResult:
    F = extended(E[kept], U[kept], g[kept])
    return ScanResult(sums=(gram(F), class_sums(F, y[kept], C, np.ones(len(F), F.dtype))))


def noise_subspace(scatter: Scatter, K: int, eps: float, dtype: np.dtype) -> Float:
    """V_K: orthonormal basis (d, k) of the k <= K leading eigenvectors of (S_B + eps I)^-1 S_W.

    k never exceeds the rank of S_W (few clips) nor d - C (something must remain to tell classes
    apart). The eigenproblem is solved in ``dtype``, the precision of the rows behind the scatter.
    """
    from scipy import linalg

    d = len(scatter.S_W)
    k = min(K, scatter.rank_bound, d - scatter.classes)
    if k <= 0:
        return np.empty((d, 0), dtype=dtype)
    b, Q = np.linalg.eigh(product(scatter.B, scatter.B.T))
    seen = b > b[-1] * 1e-12
    Qt = product((Q[:, seen] / np.sqrt(b[seen])).T, scatter.B).astype(dtype)
    shrunk = Qt.T * (1 - np.sqrt(eps / (b[seen] + eps))).astype(dtype)

    # G S_W G without forming G: two corrections of rank C.
    M = scatter.S_W.astype(dtype)
    add_product(M, shrunk, product(Qt, M), factor=-1.0)
    add_product(M, product(M, shrunk), Qt, factor=-1.0)
    # By columns and in place, as LAPACK wants it: M is symmetric.
    values, u = linalg.eigh(
        M.T, subset_by_index=(d - k, d - 1), overwrite_a=True, check_finite=False
    )
    point = max(NO_SCATTER, 16 * float(np.finfo(dtype).eps))
    u = u[:, values > max(RANK_TOLERANCE * values[-1], point * scatter.kept)]
    v = u - product(shrunk, product(Qt, u))
    V, _ = np.linalg.qr(v)
    return np.asarray(V)


def deflate(X: Rows, V: Float, T: Float) -> Labelled:
    """normalize(E' (I - V V^T))."""
    head = X.fold(np.hstack([without(T, V).T, V]))
    y, kappa, gain = X.scan(partial(_deflate, head=head, C=len(T))).rows
    return Labelled(Rows(X.source, without(X.A, V), without(X.B, V), X.U, X.g * gain), y, kappa)


def without(M: Float, V: Float) -> Float:
    """M (I - V V^T)."""
    return add_product(M.copy(), product(M, V), V.T, factor=-1.0)


def _deflate(E: Float, g: Float, U: Float, *, head: Head, C: int) -> ScanResult:
    """Labels, confidences and one over the lengths of x (I - V V^T), given x [(I - V V^T) T^T | V]."""
    S = dots(E, g, U, head)
    # |x (I - V V^T)|^2 for a unit row x; a row inside the span of V has no direction left.
    square = 1 - row_norms(S[:, C:]) ** 2
    left = square > 64 * np.finfo(E.dtype).eps
    gain = np.where(left, 1 / np.sqrt(np.where(left, square, 1)), 0).astype(E.dtype)
    y, kappa = best(S[:, :C])
    return ScanResult((y, kappa * gain, gain))


def ccvd(E: Float, T: Float, *, K: int = 60, q: float = 0.7, eps: float = 1e-4) -> Float:
    """Copy of unit rows ``E`` (N, d) without the K directions that vary most within classes."""
    rows = original(InMemory(E), T)
    V_K = noise_subspace(find_scatter(rows, len(T), q), K, eps, E.dtype)
    return formed(deflate(rows.X, V_K, T).X)

"""Orthogonal Procrustes Cross-modal Alignment (OPCA).

    M_n^c = sum_i kappa_i e_i / sum_i kappa_i  over the confident members i of class c
    H     = (M_n - mu_n)^T (M_t - mu_t) = U Sigma V^T,      R* = U V^T
    s     = clamp(|M_t - mu_t|_F / (|M_n - mu_n|_F + eps), 0.8, 1.2)
    E'    = normalize(s (E - mu_n) R* + mu_t)

H has rank at most C - 1, so R* is determined only on the span of U; on the rest the paper's formula
returns whatever the SVD routine happens to complete U and V with. Every completion is optimal. We
take the one closest to the identity: among all orthogonal R with U^T R = V^T the one of the largest
trace. It moves nothing outside span(U, V), so with an orthonormal basis Z of that span

    R* = I + Z (R_z - I) Z^T,

where R_z is at most 2(C-1) wide. It does not depend on the machine, and it costs O(NdC) to apply.

Centroids of few clips turn R* with their noise. A prior at the identity (not in the paper) holds it,

    R = argmax tr(R^T (H + kappa I)) = U V^T of H + kappa I = U Sigma V^T,
    kappa = prior |M_n - mu_n|_F |M_t - mu_t|_F / (V - 1)    with V classes,

the most probable rotation under a matrix von Mises-Fisher prior. It too is the identity outside the
span of the centroids and prototypes, and R* is its limit for prior -> 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from prism_audio.geometry.products import Float, Float64, add_product, inner, length, product
from prism_audio.geometry.rows import (
    NO_LENGTH,
    Head,
    Labelled,
    Rows,
    dots,
    formed,
    original,
    weighted_means,
)
from prism_audio.geometry.source import InMemory, ScanResult
from prism_audio.geometry.sphere import best, gate

SCALE_RANGE = (0.8, 1.2)
# Singular values below this fraction of the largest are rounding, not structure (float64 factors).
RANK_TOLERANCE = 1e-10
# Sine below which two principal directions count as one.
PARALLEL = 1e-9


@dataclass(frozen=True)
class Alignment:
    """The map e -> s (e - mu_n) (I + Z (R_z - I) Z^T) + mu_t, and how it was found."""

    mu_n: Float64
    mu_t: Float64
    s: float
    Z: Float64
    R_z: Float64
    valid_classes: int
    tau: float
    kept: int

    def rotated(self, M: Float) -> Float:
        """M R*, in the type of ``M``."""
        return self._turned(M, self.R_z)

    def rotated_back(self, M: Float) -> Float:
        """M R*^T, in the type of ``M``."""
        return self._turned(M, self.R_z.T)

    def _turned(self, M: Float, R_z: Float64) -> Float:
        Z = self.Z.astype(M.dtype)
        inside = product(M, Z)
        return add_product(M.copy(), product(inside, R_z.astype(M.dtype)) - inside, Z.T)


def closest_rotation(A: Float64, B: Float64) -> tuple[Float64, Float64]:
    """Z (d, m) and R_z (m, m) of the optimal rotation of rows A onto rows B that is nearest to I.

    ``A`` and ``B`` are (V, d). Thin factors replace the d x d SVD of H = A^T B: with A^T = Q_a R_a and
    B^T = Q_b R_b, H = Q_a (R_a R_b^T) Q_b^T. The principal angles theta between span(U) and span(V),
    U^T V = X cos(theta) Y^T, give everything else: P = U X and its partner Q = V Y differ by the plane
    rotations Q = P cos(theta) + N sin(theta). Rows of P must go where U -> V sends them, X^T Y Q; on N
    the largest trace is that of the same plane rotations, N -> N cos(theta) - P sin(theta).
    """
    Q_a, R_a = np.linalg.qr(A.T)
    Q_b, R_b = np.linalg.qr(B.T)
    u, sigma, vt = np.linalg.svd(product(R_a, R_b.T))
    rank = int(np.sum(sigma > RANK_TOLERANCE * sigma[0]))
    U, V = product(Q_a, u[:, :rank]), product(Q_b, vt[:rank].T)

    X, cosine, Yt = np.linalg.svd(product(U.T, V))
    P, Q = product(U, X), product(V, Yt.T)
    N = Q - P * cosine
    sine = np.sqrt(np.einsum("ij,ij->j", N, N))
    turned = sine > PARALLEL  # where the two spans share a direction there is no plane to turn
    N = N[:, turned] / sine[turned]
    add_product(N, P, product(P.T, N), factor=-1.0)

    Z = np.hstack([P, N])
    XtY = product(X.T, Yt.T)
    R_z = np.zeros((Z.shape[1], Z.shape[1]))
    R_z[:rank, :rank] = XtY * cosine
    R_z[:rank, rank:] = XtY[:, turned] * sine[turned]
    R_z[rank:, :rank][:, turned] = -np.diag(sine[turned])
    R_z[rank:, rank:] = np.diag(cosine[turned])
    return Z, R_z


def rotation(A: Float64, B: Float64, prior: float) -> tuple[Float64, Float64]:
    """Z (d, m) and R_z (m, m) of the rotation of rows A onto rows B, held to I by ``prior``."""
    if prior <= 0:
        return closest_rotation(A, B)
    Z, both = np.linalg.qr(np.hstack([A.T, B.T]))
    H = product(both[:, : len(A)], both[:, len(A) :].T)  # A^T B, seen from Z
    kappa = prior * length(A) * length(B) / max(len(A) - 1, 1)
    H[np.diag_indices_from(H)] += kappa
    U, _, Vt = np.linalg.svd(H)
    return Z, product(U, Vt)


def find_alignment(
    E_cur: Labelled, T: Float, p: float, eps: float, prior: float = 0.0
) -> Alignment | None:
    """The alignment of rows with the prototypes ``T``; None when fewer than two classes are seen.

    A confidence that is not positive gets no weight: a negative one would push a centroid away from
    its members. A class whose confident members have none at all is left out.
    """
    X, y, kappa = E_cur
    confident, tau = gate(kappa, p)
    M_n, totals = weighted_means(X, y, len(T), np.where(confident, np.maximum(kappa, 0), 0))
    valid = totals > 0
    if valid.sum() < 2:
        return None
    M_n, M_t = M_n[valid], T[valid].astype(np.float64)
    mu_n, mu_t = M_n.mean(axis=0), M_t.mean(axis=0)
    A, B = M_n - mu_n, M_t - mu_t
    Z, R_z = rotation(A, B, prior)
    s = float(np.clip(length(B) / (length(A) + eps), *SCALE_RANGE))
    return Alignment(mu_n, mu_t, s, Z, R_z, int(valid.sum()), tau, int(confident.sum()))


def align(X: Rows, a: Alignment, T: Float) -> Labelled:
    """E' = normalize(s (E - mu_n) R* + mu_t)."""
    # Up to the factor s, which normalising removes, E R* + c.
    c = a.mu_t / a.s - a.rotated(a.mu_n[None])[0]
    text = T.astype(np.float64)
    head = X.fold(a.rotated_back(np.vstack([text, c])).T)
    work = partial(
        _align, head=head, shift=product(text, c[:, None])[:, 0], square=inner(c[None], c[None])
    )
    y, kappa, size = X.scan(work).rows
    moved = Rows(
        X.source,
        a.rotated(X.A),
        np.vstack([a.rotated(X.B), c.astype(X.B.dtype)]),
        np.column_stack([X.U, 1 / X.g]),
        X.g / size,
    )
    return Labelled(moved, y, kappa)


def _align(
    E: Float, g: Float, U: Float, *, head: Head, shift: Float64, square: float
) -> ScanResult:
    """Labels, confidences and lengths of x R* + c, given x [R* T^T | R* c]."""
    S = dots(E, g, U, head)
    # |x R* + c|^2 for a unit row x: rotating keeps its length.
    size = np.sqrt(np.maximum(1 + square + 2 * S[:, -1], NO_LENGTH))
    y, kappa = best(S[:, :-1] + shift.astype(E.dtype))
    return ScanResult((y, kappa / size, size))


def opca(E: Float, T: Float, *, p: float = 0.8, eps: float = 1e-4) -> Float:
    """Aligned copy of unit rows ``E`` (N, d) with the unit prototypes ``T`` (C, d)."""
    rows = original(InMemory(E), T)
    alignment = find_alignment(rows, T, p, eps)
    return E.copy() if alignment is None else formed(align(rows.X, alignment, T).X)

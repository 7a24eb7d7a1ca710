"""The frame of a batch: its mean and the eigenvectors of its total scatter, found once.

    S_T = E^T E - N m m^T = Q diag(lambda) Q^T,        S_W = S_T - sum_c n_c (mu_c - m)(mu_c - m)^T

The scatter within classes is the total scatter less a matrix of the rank of the class means. So one
eigendecomposition a batch serves every assignment of its clips to classes: with U the weighted
deviations of the class means, in the frame,

    (S_W + f I)^-1 = K^2 in the metric of g,    g = (lambda + f)^(-1/2),    x -> (x g) K
    K = I + V^T ((1 - w)^(-1/2) - 1) V          (U g)(U g)^T = P w P^T,     V = w^(-1/2) P^T U g

whitens by S_W + f I. K differs from the identity in as many directions as there are classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64, inner, product

# Directions of the class means that explain less of the scatter than this are rounding.
EXPLAINED = 1e-10
# Part of the scatter in a direction that is left within classes whatever the means say.
LEFT = 1e-9


class Frame(NamedTuple):
    """N, the mean m (d,), and lambda (k,) and Q (d, k) of the total scatter of a batch.

    k = d, or fewer where the batch is small: then nothing that is asked lies outside the span of Q.
    Q has the float type of the rows, and products with it are made in that.
    """

    N: float
    m: Float64
    values: Float64
    Q: Float

    @property
    def d(self) -> int:
        """Width of the space."""
        return len(self.m)

    def deviations(self, n_c: Float64, sums: Float64) -> Float64:
        """mu_c - m in the frame (C, k), from numbers and sums of classes; zero without clips."""
        heard = n_c > 0
        means = sums / np.where(heard, n_c, 1)[:, None]
        deviations = np.where(heard[:, None], means - self.m, 0).astype(self.Q.dtype)
        return product(deviations, self.Q).astype(np.float64)

    def score_length(self, H: Float64, constant: Float64) -> float:
        """Length (root of the mean square) of (e - m) Q H + constant, centred over the classes."""
        centred = constant - constant.mean()
        deviations = H - H.mean(axis=1, keepdims=True)
        square = float(self.values @ np.einsum("kc,kc->k", deviations, deviations)) / self.N
        return float(np.sqrt(square + centred @ centred))

    def head(self, H: Float64, constant: Float64) -> Float64:
        """[Q H; constant - m Q H] (d + 1, C): for rows [e | 1] what (e - m) Q H + constant is."""
        lin = product(self.Q, H).astype(np.float64)
        return np.vstack([lin, constant - product(self.m[None], lin)[0]])


def find_frame(second: Float64, dtype: np.dtype) -> Frame:
    """The frame of rows with the moments ``second`` (d + 1, d + 1) of [e | 1].

    The eigendecomposition is made in ``dtype``, the precision of the rows.
    """
    N = float(second[-1, -1])
    m = second[-1, :-1] / N
    S_T = second[:-1, :-1] - N * np.outer(m, m)
    values, Q = np.linalg.eigh(S_T.astype(dtype))
    return Frame(N, m, np.maximum(values, 0).astype(np.float64), Q)


def thin_frame(rows: Float, T: Float) -> Frame:
    """The frame of few ``rows`` (N, d), in the span of these and of the prototypes ``T`` (C, d)."""
    E = rows.astype(np.float64)
    m = E.mean(axis=0)
    X = E - m
    span = np.vstack([X, T.astype(np.float64), m[None]])
    basis, _ = np.linalg.qr(span.T)
    inside = product(X, basis)
    values, Q = np.linalg.eigh(product(inside.T, inside))
    return Frame(float(len(E)), m, np.maximum(values, 0), product(basis, Q))


class Whitening(NamedTuple):
    """x -> (x g) K for rows in the frame, with K = I + V^T diag(k) V."""

    g: Float64
    V: Float64
    k: Float64

    @property
    def trace(self) -> float:
        """tr(diag(g) K), the sum of its gains."""
        return float(self.g.sum() + np.sum(self.k[:, None] * self.g * self.V**2))

    def __call__(self, X: Float64) -> Float64:
        """(X g) K, for X (n, d) in the frame."""
        return self.stretched(X * self.g)

    def stretched(self, X: Float64) -> Float64:
        """X K."""
        return np.asarray(X + product(product(X, self.V.T) * self.k, self.V))


def whitening(frame: Frame, U: Float64, floor: float) -> Whitening:
    """The whitening by S_T - U^T U + ``floor`` I; ``U`` (C, d) is in the frame."""
    g = 1 / np.sqrt(frame.values + floor)
    Ug = U * g
    w, P = np.linalg.eigh(product(Ug, Ug.T))
    seen = w > EXPLAINED * max(float(w[-1]), EXPLAINED)
    V = product(P[:, seen].T, Ug) / np.sqrt(w[seen])[:, None]
    return Whitening(g, V, 1 / np.sqrt(np.maximum(1 - w[seen], LEFT)) - 1)


def within_moments(frame: Frame, U: Float64) -> tuple[float, float]:
    """tr S_W and tr S_W^2 for S_W = S_T - U^T U."""
    explained = np.einsum("cd,cd->d", U, U)
    between = product(U, U.T)
    trace = float(frame.values.sum() - explained.sum())
    square = float(frame.values @ frame.values - 2 * frame.values @ explained)
    return trace, square + inner(between, between)


def whitened_trace(frame: Frame, white: Whitening, U: Float64) -> float:
    """tr of the scatter S_T - U^T U after the whitening ``white``."""
    spread = frame.values * white.g**2
    V, k = white.V, white.k
    through = product(V * spread, V.T)
    total = spread.sum() + 2 * float(k @ np.diag(through))
    total += inner(np.outer(k, k) * product(V, V.T), through)
    UK = white(U)
    return max(float(total) - inner(UK, UK), 0.0)

"""Rows that are never formed.

Every correction up to the targets is, row by row, an affine map and a normalisation, and one after
the other they keep the form

    x_i = g_i (e_i A + u_i B)

with the original unit row e_i, matrices A (d, d) and B (k, d) that all rows share, and a few numbers
g_i, u_i (k <= 2) of the row itself. For normalize(x M + c) = g'_i g_i (e_i A M + u_i B M + c / g_i):

    A <- A M,     B <- [B M; c],     u_i <- [u_i, 1/g_i],     g_i <- g_i / |x_i M + c|.

So what the operators ask of rows is found from the original ones: cosines are x H = g (e (A H) +
u (B H)); sums are sums of g [e | u] times [A; B]; and scatter is [A; B]^T (sum of g^2 [e|u]^T [e|u])
[A; B]. No corrected copy of the batch is held, in memory or on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64, add_product, product
from prism_audio.geometry.source import Notes, RowSource, ScanResult, Work
from prism_audio.geometry.sphere import Labels, assign, assign_folded, class_sums, row_norms

# Lengths below this are none: what points nowhere is not blown up to a unit vector.
NO_LENGTH = 1e-12


class Head(NamedTuple):
    """A H (d, m) and B H (k, m): what gives x H from the original rows."""

    lin: Float
    aux: Float


@dataclass(frozen=True, eq=False)
class Rows:
    """x_i = g_i (e_i A + u_i B) for the rows e_i of ``source``; all of the float type of those."""

    source: RowSource
    A: Float
    B: Float
    U: Float
    g: Float

    @cached_property
    def Z(self) -> Float:
        """[A; B] (d + k, d), so that x = g [e | u] Z."""
        return np.vstack([self.A, self.B])

    def fold(self, H: Float) -> Head:
        """The head that gives x H."""
        H = H.astype(self.source.dtype, copy=False)
        return Head(product(self.A, H), product(self.B, H))

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        """A pass; the work is shown e, g, u and the notes."""
        return self.source.scan(work, self.g, self.U, *notes)


class Labelled(NamedTuple):
    """Rows with their pseudo-labels and confidences."""

    X: Rows
    y: Labels
    kappa: Float


def original(source: RowSource, T: Float) -> Labelled:
    """The rows as the encoder gave them."""
    N, d = source.shape
    kind = source.dtype
    A, B = np.eye(d, dtype=kind), np.empty((0, d), kind)
    X = Rows(source, A, B, np.empty((N, 0), kind), np.ones(N, kind))
    y, kappa = X.scan(partial(_labels, T=T)).rows
    return Labelled(X, y, kappa)


def mapped(source: RowSource, W: Float, T: Float) -> Labelled:
    """normalize([e | 1] W): what a compiled correction makes of the rows."""
    N, d = source.shape
    one, W = np.ones(N, source.dtype), W.astype(source.dtype)
    return measured(Rows(source, W[:d], W[d:], one[:, None], one), T)


def measured(X: Rows, T: Float) -> Labelled:
    """``X`` brought to unit length, where that takes the rows themselves: formed block by block."""
    y, kappa, length = X.scan(partial(_measure, A=X.A, B=X.B, T=T)).rows
    return Labelled(Rows(X.source, X.A, X.B, X.U, X.g / length), y, kappa)


def formed(X: Rows) -> Float:
    """The rows as an array (N, d)."""
    rows: Float = X.scan(partial(_form, A=X.A, B=X.B)).rows[0]
    return rows


def folded_labels(source: RowSource, head: Float64) -> Labels:
    """argmax_c of [e_i | 1] head: the labels of a map, whose last normalisation they do not see."""
    labels: Labels = source.scan(partial(_folded, head=head)).rows[0]
    return labels


def weighted_means(X: Rows, y: Labels, C: int, weights: Float) -> tuple[Float64, Float64]:
    """Weighted mean of every class (zero where it has no weight) and the classes' total weights."""
    (sums,) = X.scan(partial(_class_sums, C=C), y, weights).sums
    totals: Float64 = np.bincount(y, weights=weights, minlength=C).astype(np.float64)
    means = product(sums.astype(X.Z.dtype), X.Z) / np.where(totals > 0, totals, 1)[:, None]
    return means, totals


def dots(E: Float, g: Float, U: Float, head: Head) -> Float:
    """x H (n, m) of a block."""
    S = product(E, head.lin)
    add_product(S, U, head.aux)
    S *= g[:, None]
    return S


def extended(E: Float, U: Float, weights: Float) -> Float:
    """w_i [e_i | u_i] of a block."""
    F = np.empty((len(E), E.shape[1] + U.shape[1]), dtype=E.dtype)
    np.multiply(E, weights[:, None], out=F[:, : E.shape[1]])
    np.multiply(U, weights[:, None], out=F[:, E.shape[1] :])
    return F


def _labels(E: Float, _g: Float, _U: Float, *, T: Float) -> ScanResult:
    return ScanResult(assign(E, T))


def _folded(E: Float, *, head: Float64) -> ScanResult:
    return ScanResult((assign_folded(E, head),))


def _form(E: Float, g: Float, U: Float, *, A: Float, B: Float) -> ScanResult:
    X = product(E, A)
    add_product(X, U, B)
    X *= g[:, None]
    return ScanResult((X,))


def _measure(E: Float, g: Float, U: Float, *, A: Float, B: Float, T: Float) -> ScanResult:
    (X,) = _form(E, g, U, A=A, B=B).rows
    length = np.maximum(row_norms(X), X.dtype.type(NO_LENGTH))
    y, kappa = assign(X, T)
    return ScanResult((y, kappa / length, length))


def _class_sums(E: Float, g: Float, U: Float, y: Labels, weights: Float, *, C: int) -> ScanResult:
    w = weights * g
    return ScanResult(sums=(np.hstack([class_sums(E, y, C, w), class_sums(U, y, C, w)]),))

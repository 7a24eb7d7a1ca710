"""Per-Class Residual Translation (PCT).

    y_i   = argmax_c <e_i, t_c>,     mu_c = mean of the e_i with y_i = c
    E_tgt = normalize(e_i + alpha (t_(y_i) - mu_(y_i)))

Every row moves by the same vector as all rows of its class: a part alpha of the way on which the
class mean would reach its prototype. What comes out are the targets of the regression, which asks for
no more than their moments with the original rows.
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
from prism_audio.geometry.rows import (
    NO_LENGTH,
    Head,
    Labelled,
    Rows,
    dots,
    extended,
    formed,
    original,
    weighted_means,
)
from prism_audio.geometry.source import InMemory, ScanResult
from prism_audio.geometry.sphere import Labels, class_sums


@dataclass(frozen=True, eq=False)
class Targets:
    """Rows t_i = (x_i + step_(y_i)) / l_i, with l_i their length before."""

    X: Rows
    y: Labels
    steps: Float64
    length: Float

    def moments(self, weights: Float | None = None) -> Float64:
        """sum of w_i [e_i | 1]^T t_i over all rows, (d + 1, d); without weights w_i = 1."""
        N, d = self.X.source.shape
        one = np.ones(N, self.X.source.dtype) if weights is None else weights
        work = partial(_moments, C=len(self.steps))
        G, total, sums, n_c = self.X.scan(work, self.y, one / self.length).sums
        Z = self.X.Z
        moments = np.empty((d + 1, d))
        moments[:d] = product(G[:d].astype(Z.dtype), Z)
        moments[d] = product(total[None].astype(Z.dtype), Z)[0]
        add_product(moments, np.column_stack([sums, n_c]).T, self.steps)
        return moments

    def formed(self) -> Float:
        """The targets as an array (N, d)."""
        rows = formed(self.X) + self.steps[self.y].astype(self.length.dtype)
        rows /= self.length[:, None]
        return rows


def translate(rows: Labelled, T: Float, alpha: float) -> Targets:
    """E_tgt = normalize(E + alpha (T[y] - mu[y]))."""
    X, y, _ = rows
    mu, _ = weighted_means(X, y, len(T), np.ones_like(X.g))
    steps = alpha * (T - mu)
    head = X.fold(steps.T)
    (length,) = X.scan(partial(_lengths, head=head, square=np.sum(steps**2, axis=1)), y).rows
    return Targets(X, y, steps, length)


def untranslated(rows: Labelled, C: int) -> Targets:
    """The rows themselves as targets."""
    X = rows.X
    return Targets(X, rows.y, np.zeros((C, X.source.shape[1])), np.ones_like(X.g))


def _lengths(E: Float, g: Float, U: Float, y: Labels, *, head: Head, square: Float64) -> ScanResult:
    """|x + step_y| of unit rows x; where a row has no direction left, of the step alone."""
    towards = np.take_along_axis(dots(E, g, U, head), y[:, None], axis=1)[:, 0]
    squares = (g > 0) + 2 * towards + square[y]
    return ScanResult((np.sqrt(np.maximum(squares, NO_LENGTH)).astype(E.dtype),))


def _moments(E: Float, g: Float, U: Float, y: Labels, weights: Float, *, C: int) -> ScanResult:
    w = g * weights
    root = np.sqrt(w)
    F = extended(E, U, root)
    n_c = np.bincount(y, weights=weights, minlength=C)
    return ScanResult(sums=(gram(F), product(root[None], F)[0], class_sums(E, y, C, weights), n_c))


def pct(E: Float, T: Float, *, alpha: float = 0.3) -> Float:
    """Copy of unit rows ``E`` (N, d), each class moved towards its prototype in ``T`` (C, d)."""
    return translate(original(InMemory(E), T), T, alpha).formed()

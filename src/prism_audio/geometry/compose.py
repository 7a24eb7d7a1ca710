"""Compilation by composition: the map as the product of its explicit parts, found in soft rounds.

    r_ic  = softmax_c([e_i | 1] W t_c / (h l)),    W = [I; 0] at first
    n_c   = sum_i r_ic,    mu_c = sum_i r_ic e_i / n_c,    m = sum_i e_i / N
    S_W   = E^T E - N m m^T - (1 - nu) sum_c n_c (mu_c - m) (mu_c - m)^T
    G     = (S_W + floor I)^(-1/2), scaled to a mean square of one                (soft deflation)
    M_n^c = (n_c mu_c + a (m' + b (t_c - t))) / (n_c + a),   a = 1/2,   then times G
    R     as in OPCA, with the prior nu, and s = |M_t - mu_t| / |M_n - mu_n|
    W     = [s G R;  mu_t - s mu_n R], scaled so that its scores, centred over the classes, have the
            length l of those of zero-shot

Whitening, rotation, scale and means are known matrices, so their product needs no regression. ABR
fits (d + 1) d numbers to N rows and, where N is not much larger than d, remembers the batch; the
composition has little to remember it with, and does better on clips it has not seen.

A clip counts for every class as far as it may be of it. Hard labels make up their mind in the first
round, and later ones repeat its mistakes; soft ones change it. They also need nothing of the rows but
n_c and mu_c: E^T E is the same in all rounds, and a round is one pass over the rows.

The labels come from the scores, so classes look tighter than they are just where the scores tell them
apart, and a gain that believes it makes more of that in every round. As far as the class means are not
known, nu = sqrt(C / N), what they differ by counts as noise within the classes.

Zero-shot, where the rounds start, is drawn to some classes by the noise: strangers give them a part of
themselves, and dilute their means until another class takes their own clips and, from then on, their
name. So the first assignments are softer, and count as what they are, mixtures: in M_n mu_c are not the
means of the clips but what the clips mix by least squares, as far as nu^2 does not doubt it,

    (nu^2 diag(n) + (1 - nu^2) r^T r) mu = r^T E.

Later ones come from the map itself; taken as mixtures, they would carry it on beyond what was heard.

A class of which the batch holds no clip would be missing in mu_n, mu_t and s, and lose to those that
are there. It stands where the text puts it: m' and t are the means of the centroids and of the
prototypes, b is the slope of the centroids on the prototypes. One clip outweighs that. Not in the paper.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from prism_audio.geometry.ccvd import within
from prism_audio.geometry.opca import rotation
from prism_audio.geometry.products import Float, Float64, add_product, inner, length, product
from prism_audio.geometry.soft import soft_gain
from prism_audio.geometry.source import RowSource, ScanResult

# Clips that the text counts for in the centroid of a class.
TEXT_CLIPS = 0.5


class Shares(NamedTuple):
    """What classes hold of a batch: n_c clips each, which sum up to ``sums`` (C, d)."""

    n_c: Float64
    sums: Float64

    @property
    def means(self) -> Float64:
        """mu_c (C, d), zero for a class without clips."""
        return np.asarray(self.sums / np.where(self.n_c > 0, self.n_c, 1)[:, None])


class Mixture(NamedTuple):
    """Shares, and what classes hold of the same clips: ``common`` (C, C) is r^T r."""

    shares: Shares
    common: Float64

    def means(self, doubt: float) -> Float64:
        """The mu_c (C, d) that the clips mix; those of the shares as far as there is ``doubt``."""
        n_c, sums = self.shares
        scale = np.where(n_c > 0, 1 / np.sqrt(np.where(n_c > 0, n_c, 1)), 0)
        mixing = doubt * np.eye(len(n_c)) + (1 - doubt) * scale[:, None] * self.common * scale
        found = linalg.solve(mixing, scale[:, None] * sums, assume_a="pos")
        return np.asarray(scale[:, None] * found)


class Composition(NamedTuple):
    """The composed map, its scale s, and how many of the d directions its gain takes away."""

    W: Float64
    s: float
    deflated_rank: float


def find_shares(source: RowSource, head: Float64, temperature: float) -> Shares:
    """The shares of the classes under r_ic = softmax_c([e_i | 1] head / temperature)."""
    return Shares(*source.scan(partial(_shares, head=head / temperature)).sums)


def find_mixture(source: RowSource, head: Float64, temperature: float) -> Mixture:
    """The same shares, with what they have in common."""
    n_c, sums, common = source.scan(partial(_mixture, head=head / temperature)).sums
    return Mixture(Shares(n_c, sums), common)


def score_length(head: Float64, second: Float64) -> float:
    """Length (root of the mean square) of the scores [e | 1] head, centred over the classes.

    ``second`` are the moments of [e | 1].
    """
    deviations = head - head.mean(axis=1, keepdims=True)
    square = inner(deviations, product(second, deviations)) / second[-1, -1]
    return float(np.sqrt(max(square, 0.0)))


def compose(
    shares: Shares,
    mu_c: Float64,
    second: Float64,
    T: Float,
    *,
    rho: float,
    eps: float,
    prior: float = 0.0,
) -> Composition:
    """The affine map W (d + 1, d) for rows with ``shares`` and moments ``second`` of [e | 1].

    ``mu_c`` (C, d) are what is turned onto the prototypes: the means of the classes, or
    :meth:`Mixture.means`.

    Its scores are as long as those of the identity, so that a mixture of the two means what its
    weights say. Fewer than two classes that outweigh the text determine no map: the identity. The
    gain is found in the precision of ``T``, that of the rows.
    """
    n_c = shares.n_c
    M_t = T.astype(np.float64)
    mu_t = M_t.mean(axis=0)
    B = M_t - mu_t
    identity = np.eye(len(second), len(mu_t))
    if np.sum(n_c >= TEXT_CLIPS) < 2 or not B.any():
        return Composition(identity, 1.0, 0.0)
    gain = find_gain(shares, second, T.dtype, rho=rho, prior=prior)
    G = np.sqrt(len(gain)) / length(gain) * gain
    M_n = product(with_text(mu_c, n_c, M_t), G)
    mu_n = M_n.mean(axis=0)
    A = M_n - mu_n
    Z, R_z = rotation(A, B, prior)
    # Not clamped as in OPCA: nothing comes after it that could make up for classes left too close,
    # and then <mu_t, t_c> alone would decide.
    s = float(length(B) / (length(A) + eps))
    turn = product(R_z - np.eye(len(R_z)), Z.T)
    W = s * np.vstack([G, -mu_n])
    add_product(W, product(W, Z), turn)
    W[-1] += mu_t
    before, after = (score_length(product(M, M_t.T), second) for M in (identity, W))
    W *= before / after if after > 0 else 1.0
    return Composition(W, s, len(gain) - float(np.trace(gain)))


def find_gain(
    shares: Shares, second: Float64, dtype: np.dtype, *, rho: float, prior: float
) -> Float64:
    """The soft gain (d, d) of rows with ``shares``, found in ``dtype``; ``prior`` is nu."""
    n_c, sums = shares
    m = sums.sum(axis=0) / n_c.sum()
    doubted = m + np.sqrt(max(1 - prior, 0.0)) * (shares.means - m)
    S_W = within(second[:-1, :-1], doubted, n_c)
    n = n_c.sum() - np.sum(n_c >= TEXT_CLIPS)
    return soft_gain(S_W.astype(dtype), n, rho).astype(np.float64)


def with_text(mu_c: Float64, n_c: Float64, T: Float64) -> Float64:
    """Class means (C, d) in which the text stands for :data:`TEXT_CLIPS` clips of every class."""
    share = n_c / (n_c + TEXT_CLIPS)
    m, t = (product(share[None], X) / share.sum() for X in (mu_c, T))
    deviations = share[:, None] * (T - t)
    square = inner(deviations, T - t)
    b = inner(deviations, mu_c - m) / square if square > 0 else 0.0
    return np.asarray(share[:, None] * mu_c + (1 - share)[:, None] * (m + b * (T - t)))


def _shares(E: Float, *, head: Float64) -> ScanResult:
    r = _assignments(E, head)
    return ScanResult(sums=(r.sum(axis=0), product(r.T, E)))


def _mixture(E: Float, *, head: Float64) -> ScanResult:
    r = _assignments(E, head)
    return ScanResult(sums=(r.sum(axis=0), product(r.T, E), product(r.T, r)))


def _assignments(E: Float, head: Float64) -> Float:
    S = product(E, head[:-1].astype(E.dtype))
    S += head[-1].astype(E.dtype)
    S -= S.max(axis=1, keepdims=True)
    np.exp(S, out=S)
    S /= S.sum(axis=1, keepdims=True)
    return S


def towards_identity(W: Float64, weight: float) -> Float64:
    """weight W + (1 - weight) [I; 0]: as much of a correction as the evidence carries."""
    return np.asarray(weight * W + (1 - weight) * np.eye(*W.shape))

"""Compilation by composition: the map as the product of its explicit parts, found in soft rounds.

    r_ic  = softmax_c([e_i | 1] head / (h l))
    n_c   = sum_i r_ic,    mu_c = sum_i r_ic e_i / n_c,    m = sum_i e_i / N
    S_W   = E^T E - N m m^T - (1 - nu) sum_c n_c (mu_c - m) (mu_c - m)^T
    G     = the whitening by S_W + floor I                                        (soft deflation)
    M_n^c = (n_c mu_c + a (m' + b (t_c - t))) / (n_c + a),   a = 1/2,   then times G
    R     as in OPCA, with the prior nu, and s = |M_t - mu_t| / |M_n - mu_n|
    x     = s (e G - mu_n) R + mu_t                              (the rigid map: text onto clips)
    p_c   = normalize(lambda_c (t_c - mu_t) + (1 - lambda_c) (M_x^c - mu_t)),  head_c = <x - mu_t, p_c>
    lambda_c = (w / n_c) / (w / n_c + tau^2)

Whitening, rotation, scale and means are known matrices, so their product needs no regression. ABR
fits (d + 1) d numbers to N rows and, where N is not much larger than d, remembers the batch.

A clip counts for every class as far as it may be of it, so a round needs nothing of the rows but n_c
and sums: it is one pass. Labels come from the scores, so classes look tighter than they are just where
the scores tell them apart: as far as the class means are not known, nu = sqrt(C / N), what they differ
by counts as noise within the classes.

The rigid map turns the text as one figure onto the class means. The mean of n_c clips is off by w / n_c
a direction, w the variance within classes; the text is off by tau^2, which the classes themselves tell.
p_c is the posterior mean of the two, from the middle of the classes: the more clips, the less text. What
all prototypes have in common tells no classes apart and takes no part.

Rounds that hold every class equally often take log(n_c) off the logits of a class (a step of Sinkhorn
each time); rounds that go by what was heard add half of it (the shares of a mixture, half believed).

A class of which the batch holds no clip stands where the text puts it: m' and t are the means of the
centroids and of the prototypes, b is the slope of the centroids on the prototypes. Not in the paper.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from prism_audio.geometry.ccvd import within
from prism_audio.geometry.frame import (
    Frame,
    Whitening,
    whitened_trace,
    whitening,
    within_moments,
)
from prism_audio.geometry.opca import rotation
from prism_audio.geometry.products import Float, Float64, inner, length, product
from prism_audio.geometry.soft import relative_error, soft_gain
from prism_audio.geometry.source import RowSource, ScanResult

# Clips that the text counts for in the centroid of a class.
TEXT_CLIPS = 0.5
# Variances below this part of a squared length are none.
NOTHING = 1e-12


class Shares(NamedTuple):
    """What classes hold of a batch: n_c clips each, which sum up to ``sums`` (C, d)."""

    n_c: Float64
    sums: Float64

    @property
    def means(self) -> Float64:
        """mu_c (C, d), zero for a class without clips."""
        return np.asarray(self.sums / np.where(self.n_c > 0, self.n_c, 1)[:, None])


class Rigid(NamedTuple):
    """x = s (e G - mu_n) R + mu_t in the frame, with R = I + Z (R_z - I) Z^T."""

    frame: Frame
    white: Whitening
    mu_n: Float64
    mu_t: Float64
    s: float
    Z: Float64
    R_z: Float64

    def scores(self, P: Float64) -> tuple[Float64, Float64]:
        """H (k, C) and c (C,) in <x, p_c> = (e - m) Q H + c, for ``P`` (C, k) in the frame."""
        inside = product(P, self.Z)
        back = P + product(product(inside, self.R_z.T) - inside, self.Z.T)
        H = self.s * (self.white.stretched(back) * self.white.g).T
        return H, product(P, self.mu_t[:, None])[:, 0] - self.s * back @ self.mu_n

    def matrix(self) -> Float64:
        """The map itself, (d + 1, d) for rows [e | 1] as they come.

        What lies outside the frame varied in no clip, and gets the largest gain.
        """
        Q = self.frame.Q
        head = self.frame.head(*self.scores(np.eye(len(self.mu_n))))
        W = product(head.astype(Q.dtype), Q.T).astype(np.float64)
        if Q.shape[1] < len(Q):
            W[:-1] += self.s * float(self.white.g.max()) * (np.eye(len(Q)) - product(Q, Q.T))
        return W


class Composition(NamedTuple):
    """What a round finds.

    Attributes
    ----------
    head : (d + 1, C) array
        Scores for rows [e | 1].
    unit : float
        Length of the scores, centred over the classes.
    rigid : Rigid
        The rigid map beneath.
    deflated_rank : float
        How many directions its gain takes away.
    """

    head: Float64
    unit: float
    rigid: Rigid
    deflated_rank: float


def find_shares(source: RowSource, heads: list[Float64]) -> list[Shares]:
    """The shares of the classes under r_ic = softmax_c([e_i | 1] head), one for each head."""
    sums = source.scan(partial(_shares, heads=heads)).sums
    return [Shares(*sums[i : i + 2]) for i in range(0, len(sums), 2)]


def with_shares(head: Float64, n_c: Float64, temperature: float) -> Float64:
    """A head (d + 1, C) whose scores rise by ``temperature`` log(n_c), less what all have in common.

    Half a clip of every class keeps the bias of a class without any finite.
    """
    bias = np.log(n_c + TEXT_CLIPS)
    return np.vstack([head[:-1], head[-1] + temperature * (bias - bias.mean())])


def score_length(head: Float64, second: Float64) -> float:
    """Length (root of the mean square) of the scores [e | 1] head, centred over the classes.

    ``second`` are the moments of [e | 1].
    """
    deviations = head - head.mean(axis=1, keepdims=True)
    square = inner(deviations, product(second, deviations)) / second[-1, -1]
    return float(np.sqrt(max(square, 0.0)))


def compose(
    shares: Shares,
    frame: Frame,
    M_t: Float64,
    *,
    rho: float,
    prior: float,
    weighed: Shares | None = None,
) -> Composition | None:
    """The head and the map for rows with ``shares`` in ``frame``, and prototypes ``M_t`` (C, k) in it.

    ``prior`` is nu. ``weighed`` are shares for the class means, where some clips count for more there.
    Fewer than two classes that outweigh the text, or equal prototypes, determine none.
    """
    n_c = np.maximum(shares.n_c, NOTHING)
    mu_t = M_t.mean(axis=0)
    B = M_t - mu_t
    if np.sum(n_c >= TEXT_CLIPS) < 2 or length(B) < NOTHING:
        return None
    deviations = frame.deviations(*shares)
    white, floor, n = find_whitening(n_c, deviations, frame, rho, prior)
    weighed = weighed or shares
    n_w = np.maximum(weighed.n_c, NOTHING)
    means = deviations if weighed is shares else frame.deviations(*weighed)
    M_n = white(with_text(means, n_w, M_t))
    mu_n = M_n.mean(axis=0)
    A = M_n - mu_n
    Z, R_z = rotation(A, B, prior)
    # Not clamped as in OPCA: nothing comes after it that could make up for classes left too close,
    # and then <mu_t, t_c> alone would decide.
    s = length(B) / max(length(A), NOTHING)
    rigid = Rigid(frame, white, mu_n, mu_t, s, Z, R_z)
    A_x = s * product(product(product(A, Z), R_z), Z.T)
    scatter = whitened_trace(frame, white, np.sqrt(n_c)[:, None] * deviations)
    w = s * s * scatter / max(n, 1.0) / frame.d
    P = posterior(A_x, B, n_w, w, frame.d)
    P /= np.maximum(np.sqrt(np.einsum("cd,cd->c", P, P)), NOTHING)[:, None]
    taken = len(mu_n) - np.sqrt(floor) * white.trace
    H, constant = rigid.scores(P)
    scores = H, constant - product(P, mu_t[:, None])[:, 0]
    return Composition(frame.head(*scores), frame.score_length(*scores), rigid, taken)


def posterior(A: Float64, B: Float64, n_c: Float64, w: float, d: int) -> Float64:
    """lambda_c B_c + (1 - lambda_c) A_c: means of clips ``A`` and of text ``B`` (C, k), weighed.

    Both are deviations; ``w`` is the variance of a clip in each of ``d`` directions. tau^2 is how far
    apart they are beyond what n_c clips explain, over the classes with a clip.
    """
    heard = n_c >= 1
    if heard.sum() < 2:
        return B
    apart = np.einsum("cd,cd->c", A - B, A - B)[heard] / d
    tau_2 = max(float(np.sum(n_c[heard] * apart) - w * heard.sum()) / float(n_c[heard].sum()), 0.0)
    text = (w / n_c / (w / n_c + tau_2 + NOTHING))[:, None]
    return np.asarray(text * B + (1 - text) * A)


def find_whitening(
    n_c: Float64, deviations: Float64, frame: Frame, rho: float, prior: float
) -> tuple[Whitening, float, float]:
    """G, its floor, and the degrees of freedom of S_W; ``prior`` is nu."""
    U = np.sqrt(max(1 - prior, 0.0) * n_c)[:, None] * deviations
    trace, square = within_moments(frame, U)
    n = float(n_c.sum() - np.sum(n_c >= TEXT_CLIPS))
    error = relative_error(trace, square, frame.d, n)
    floor = max(rho * error * trace / frame.d, NOTHING * frame.N)
    return whitening(frame, U, floor), floor, n


def find_gain(
    shares: Shares, second: Float64, dtype: np.dtype, *, rho: float, prior: float
) -> Float64:
    """The symmetric gain (d, d) of rows with ``shares``, with the lengths of the whitening."""
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


def softmax(S: Float, bias: Float) -> None:
    """S (n, C) <- softmax over the columns of S + ``bias``, in place."""
    S += bias
    S -= S.max(axis=1, keepdims=True)
    np.exp(S, out=S)
    S /= S.sum(axis=1, keepdims=True)


def _shares(E: Float, *, heads: list[Float64]) -> ScanResult:
    # All heads in one product, which is faster than one each.
    r = product(E, np.hstack([head[:-1] for head in heads]))
    parts = np.split(r, np.cumsum([head.shape[1] for head in heads])[:-1], axis=1)
    for part, head in zip(parts, heads, strict=True):
        softmax(part, head[-1].astype(E.dtype))
    total = product(r.T, E)
    sums = np.split(total, np.cumsum([part.shape[1] for part in parts])[:-1])
    both = zip((part.sum(axis=0) for part in parts), sums, strict=True)
    return ScanResult(sums=tuple(chain.from_iterable(both)))

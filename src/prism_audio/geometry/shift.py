"""The shift of a place: what it adds to every clip, found together with what was heard.

    z_i  = d + b t_y + noise of variance sigma^2,      y ~ pi       (a mixture with text for its means)

z_i are the rows, and t_c the prototypes less their mean, in the C - 1 directions in which prototypes
differ: all that a zero-shot score depends on. The noise of a place adds the same vector d to every
row, and so a constant to every class score. The mean score alone cannot tell such a constant from a
class that is heard often; the mixture can, because it has the shares pi of the classes beside d.

Expectation and maximisation, from scores less their mean over the rows:

    r_ic   proportional to exp(-|z_i - d - b t_c|^2 / (2 sigma^2))
    b      = sum_i <z_i - d, sum_c r_ic t_c> / sum_c n_c |t_c|^2,      n_c = sum_i r_ic
    d      = d_0 + v / (v + sigma^2 / N) (mean_i (z_i - b sum_c r_ic t_c) - d_0),   v = (0.4 b l)^2

d_0 is the place at which the mixture answers as zero-shot does. The mean of N clips is off by
sigma^2 / N, and v is how far shifts go in a direction: l is the length of the t_c (root of the mean
square), b l how far classes lie from their middle, and noisy places move clips by a fifth of that;
places twice as noisy are allowed for. The shares pi_c = (n_c + 1) / (N + C) take no part until the end:
with few labels a mixture with shares likes to drop one of two similar classes.

Clips without noise are off as well, by 0.08 b l in a direction, because text is not sound. What is no
larger is no place. So of the shift the part 1 - (0.08 b l)^2 q / |d - d_0|^2 counts, at least 0 (the
estimate of James and Stein).

One class alone also fits, split in parts that lie close together and far from d_0. So the shift counts
as far as the clips speak for classes: with L the log-likelihood (with the shares) by which the mixture
beats one cloud, less |d - d_0|^2 / (2 v), what such a shift costs, and C the parameters that it has
more, which cost K by the criterion of Schwarz:

    w_1 = x^2 / (x^2 + 1),    x = L / K - 1 + B,    K = (C / 2) log N,    0 where x is below 0

B is what neighbours say of it, from all other directions (:mod:`prism_audio.geometry.neighbours`).

The noise of either may be round or drawn out in up to six directions, as many as the same criterion
prefers: clips of one class differ most in a few ways, loudness and the kinds of it. With more
directions a cloud could take the place of ten classes.

Not in the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float, Float64, inner, product

ITERATIONS = 30
# How far places move clips in a direction, and how far clips are off without noise, in lengths of the
# class means from their middle.
SHIFT_SIZE, NO_SHIFT = 0.4, 0.08
CACHED_ROWS = 256
# Singular values of the prototypes below this part of the largest are no direction of their own.
RANK_TOLERANCE = 1e-6
# Below this many clips a mean says nothing.
FEWEST = 4
# Rows that differ in a few directions only, to this part, are no cloud.
FLAT = 1e-9
# In how many directions a cloud may be drawn out.
LONG = 6


class Shift(NamedTuple):
    """What a place adds to every clip, and what was heard there.

    Attributes
    ----------
    vector : (d,) array
        The shift, to be taken off every row; zero-shot is vector = 0.
    head : (d + 1, C) array
        Logits of the mixture, log r_ic up to a constant of the row.
    shares : (C,) array
        pi, how much of the batch each class is.
    evidence, cost : float
        L and K.
    """

    vector: Float64
    head: Float64
    shares: Float64
    evidence: float
    cost: float

    def weight(self, neighbours: float, more: float = 1.0) -> float:
        """w_1: how far the clips, and ``neighbours`` (B), speak for several classes, 0 to 1.

        ``more`` is how many times as many clips there might be: evidence grows with them, its cost
        with their logarithm.
        """
        cost = self.cost + len(self.shares) / 2 * float(np.log(more))
        x = max(more * self.evidence / cost - 1 + neighbours, 0.0)
        return x * x / (x * x + 1)


def find_shift(rows: Float, T: Float, softness: float, clips: float) -> Shift | None:
    """The shift of a place from unit rows ``rows`` (N, d) and unit prototypes ``T`` (C, d).

    Parameters
    ----------
    rows, T : arrays
        The clips and the text.
    softness : float
        Temperature of the first assignments, in lengths of the centred scores.
    clips : float
        How many independent clips the rows are worth, at most N.

    Returns
    -------
    Shift or None
        None where there is nothing to tell apart: one class, equal prototypes, or hardly a clip.
    """
    text = T.astype(np.float64)
    B = text - text.mean(axis=0)
    _, size, Vt = np.linalg.svd(B, full_matrices=False)
    V = Vt[size > RANK_TOLERANCE * max(size[0], RANK_TOLERANCE)].T
    t, z = product(B, V), product(rows, V).astype(np.float64)
    N, q = z.shape
    total = float(((z - z.mean(axis=0)) ** 2).sum()) / N
    if q == 0 or clips < FEWEST or total <= 1e-12:
        return None
    square = np.einsum("cq,cq->c", t, t)
    d_0 = -0.5 * np.linalg.lstsq(t, square - square.mean(), rcond=None)[0]
    d, b, variance, prior, shares, L = _fit(z, t, d_0, softness, clips, rows.dtype)
    cost = len(T) / 2 * float(np.log(clips))
    lin = product(V, t.T) * (b / variance)
    constant = np.log(shares) - (b * product(t, d[:, None])[:, 0] + b * b / 2 * square) / variance
    ordinary = q * float(square.mean()) * (NO_SHIFT * b) ** 2
    part = max(1 - ordinary / max(float(((d - prior) ** 2).sum()), ordinary), 0.0)
    vector = part * product(V, (d - prior)[:, None])[:, 0]
    return Shift(vector, np.vstack([lin, constant]), shares, L, cost)


def _fit(
    z: Float64, t: Float64, d_0: Float64, softness: float, clips: float, dtype: np.dtype
) -> tuple[Float64, float, float, Float64, Float64, float]:
    """d, b, sigma^2, b d_0, pi and L of the mixture for rows ``z`` (N, q) and text ``t`` (C, q).

    sum_i <z_i, sum_c r_ic t_c> is the sum of r_ic <z_i, t_c>, and these products are made once. So are
    the squares of the rows: an iteration sees the rows only through r, which has the type of the rows.
    """
    (N, q), C = z.shape, len(t)
    worth, m, square = clips / N, z.mean(axis=0), np.einsum("cq,cq->c", t, t)
    scores = product(z - m, t.T)
    unit = np.sqrt(inner(scores, scores) / N)
    scores = scores.astype(dtype)
    seen = _expect(scores, 1 / (softness * unit), np.zeros(C))
    squares, d, b = float(((z - m) ** 2).sum()), m, 0.0
    spread = squares / (N * q)
    for _ in range(ITERATIONS):
        n, agreeing, _ = seen
        towards = product(n[None], t)[0]
        b = max((agreeing - float((d - m) @ towards)) / float(n @ square), 1e-6)
        step, prior = -b / N * towards, b * d_0
        found = m + step
        apart = squares + N * float(step @ step) + b * b * float(n @ square)
        apart -= 2 * b * (agreeing - float(step @ towards))
        variance = max(apart / (N * q), 1e-9 * spread)
        v = float(square.mean()) * (SHIFT_SIZE * b) ** 2
        d = prior + v / (v + variance / clips) * (found - prior)
        constant = -b / variance * (product(t, (d - m)[:, None])[:, 0])
        constant -= b * b / 2 * square / variance
        seen = _expect(scores, b / variance, constant)
    shares = (worth * seen.n + 1) / (clips + C)
    constant += np.log(shares)
    seen = _expect(scores, b / variance, constant)
    # Both models have the constant of their own variance; the one cloud has spread exactly q.
    own = (squares + N * float((d - m) @ (d - m))) / (2 * variance)
    L = worth * (seen.top - own - N * q / 2 * float(np.log(variance / spread) - 1))
    L -= float(((d - prior) ** 2).sum()) / (2 * v)
    r, _ = _softmax((scores * (b / variance) + constant).astype(dtype))
    rest = z - d - b * product(r, t)
    L += drawn_out(rest - rest.mean(axis=0), clips) - drawn_out(z - m, clips)
    return d, b, variance, prior, shares, L


def drawn_out(x: Float64, clips: float) -> float:
    """How much likelier a few long directions make centred rows ``x`` (N, q) than a round cloud.

    Less what the parameters of the directions cost with so many ``clips``; not below 0.
    """
    N, q = x.shape
    sizes = np.linalg.eigvalsh(product(x.T, x) / N)[::-1]
    total, best = float(sizes.sum()), 0.0
    for long in range(1, min(LONG, q - 1) + 1):
        rest = float(sizes[long:].sum()) / (q - long)
        if rest <= FLAT * total:
            break
        gain = q * np.log(total / q) - np.log(sizes[:long]).sum() - (q - long) * np.log(rest)
        parameters = long * q - long * (long - 1) / 2
        best = max(best, float(clips * gain - parameters * np.log(clips)) / 2)
    return best


class _Seen(NamedTuple):
    """Sums over the rows: n_c, r_ic <z_i - m, t_c>, and the logarithm of what r_ic was divided by."""

    n: Float64
    agreeing: float
    top: float


def _expect(scores: Float, scale: float, constant: Float64) -> _Seen:
    """What an iteration needs of r = softmax(scale scores + constant), in blocks that fit the cache."""
    n, agreeing, top = np.zeros(len(constant)), 0.0, 0.0
    factor, offset = scores.dtype.type(scale), constant.astype(scores.dtype)
    for start in range(0, len(scores), CACHED_ROWS):
        block = scores[start : start + CACHED_ROWS]
        r, tops = _softmax(block * factor + offset)
        n += r.sum(axis=0)
        agreeing += inner(block, r)
        top += float(tops.sum())
    return _Seen(n, agreeing, top)


def _softmax(logits: Float) -> tuple[Float, Float]:
    """softmax over the columns, in the place of ``logits``, and the logarithm of what it divides by."""
    top = logits.max(axis=1, keepdims=True)
    logits -= top
    np.exp(logits, out=logits)
    total = logits.sum(axis=1, keepdims=True)
    logits /= total
    return logits, (top + np.log(total))[:, 0]

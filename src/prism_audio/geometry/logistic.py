"""Multinomial logistic regression around given logits, with its strength chosen by left-out rows.

    A = argmin  -sum_i log softmax(S_i + x_i A)_(y_i) + lambda / 2 |A|^2

lambda is the one of :data:`STRENGTHS`, from 1 downwards, at which rows that were left out have the
least log-loss. The search ends where it no longer falls. At 1 a row of length 1 weighs as much as what
is known before. Left-out rows are not asked for more: they have fewer labels of their class than there
are.

The softmax is over the classes that have a label. Labels tell those apart. That none of them is of
another class says how they were drawn, not what that class sounds like.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_audio.geometry.products import Float64, product
from prism_audio.geometry.sphere import Labels

# lambda for rows of length 1: the weight of a label against which what is known before stands.
STRENGTHS = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
# Below CAREFUL only where every class has so many labels: left-out rows say nothing of a class without.
CAREFUL, ENOUGH = 1 / 4, 20
# Rows that it learns from at most; with more, too few labels are no longer what limits it.
MOST = 2048


def regress(x: Float64, S: Float64, y: Labels, part: Labels) -> tuple[float, Float64, Float64]:
    """lambda, A (k, C), and the logits (n, C) of every row by the rows of other parts.

    Parameters
    ----------
    x, y : arrays
        Rows (n, k) and their classes (n,).
    S : (n, C) array
        The logits without A.
    part : (n,) array
        Which rows are left out together.
    """
    few = np.linspace(0, len(y) - 1, min(len(y), MOST)).astype(np.intp)
    # All that A can be is a sum of labelled rows: no more numbers a class than there are labels.
    U, size, Vt = np.linalg.svd(x[few], full_matrices=False)
    z, S_few, y_few, part_few = U * size, S[few], y[few], part[few]
    seen, number = np.unique(y_few, return_inverse=True)
    nothing = np.zeros((z.shape[1], len(seen)))

    def fit(rows: NDArray[np.bool_], lam: float, start: Float64) -> Float64:
        return solve(z[rows], S_few[np.ix_(rows, seen)], number[rows], lam, start)

    best, strength, chosen = np.inf, STRENGTHS[0], S_few
    starts = dict.fromkeys(np.unique(part_few).tolist(), nothing)
    scarcest = int(np.bincount(y, minlength=S.shape[1]).min())
    for lam in STRENGTHS:
        if lam < CAREFUL and scarcest < ENOUGH:
            break
        L = S_few.copy()
        for k, start in starts.items():
            inside, out = part_few != k, part_few == k
            if inside.any():
                starts[k] = fit(inside, lam, start)
                L[np.ix_(out, seen)] += product(z[out], starts[k])
        loss = float(log_loss(L, y_few).mean())
        if loss >= best:
            break
        best, strength, chosen = loss, lam, L
    A = np.zeros((x.shape[1], S.shape[1]))
    found = fit(np.ones(len(few), dtype=bool), strength, nothing)
    A[:, seen] = product(np.ascontiguousarray(Vt.T), found)
    logits = S.copy()
    logits[few] = chosen
    return strength, A, logits


def solve(z: Float64, S: Float64, y: Labels, lam: float, start: Float64) -> Float64:
    """A (k, C) with the least log-loss of S + z A on ``y``, plus lambda / 2 |A|^2."""
    from scipy import optimize  # takes a while to import, and blind calibrations need none of it

    def loss(flat: Float64) -> tuple[float, Float64]:
        A = flat.reshape(start.shape)
        L = S + product(z, A)
        P = softmax(L)
        value = float(log_loss(L, y).sum()) + lam / 2 * float(flat @ flat)
        P[np.arange(len(y)), y] -= 1
        return value, (product(z.T, P) + lam * A).ravel()

    options = {"maxiter": 40, "maxcor": 6}
    found = optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(start.shape))


def find_scale(S: Float64, y: Labels) -> float:
    """g, by which logits ``S`` (n, C) are scaled to have the least log-loss on ``y``."""
    from scipy import optimize

    found = optimize.minimize_scalar(
        lambda e: float(log_loss(np.exp(e) * S, y).mean()), bounds=(-4, 2), method="bounded"
    )
    return float(np.exp(found.x))


def hit_rate(L: Float64, y: Labels) -> float:
    """Fraction of rows whose largest score is that of their class."""
    return float(np.mean(L.argmax(axis=1) == y))


def softmax(L: Float64) -> Float64:
    """softmax over the classes, (n, C)."""
    P = np.exp(L - L.max(axis=1, keepdims=True))
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def log_loss(L: Float64, y: Labels) -> Float64:
    """-log softmax(L)_y of every row, (n,)."""
    top = L.max(axis=1)
    total = np.log(np.exp(L - top[:, None]).sum(axis=1))
    return np.asarray(top + total - L[np.arange(len(y)), y])

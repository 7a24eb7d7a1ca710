"""Shared parts of the transductive mixtures StatA and TransCLIP: affinities, likelihoods, assignments.

    z_i  proportional to  p_i * exp((g_i + 50 / (2 k) sum_j (w_ij + w_ji) z_j) / 50)
    g_ic = -1/2 sum_d (e_id - mu_cd)^2 / v_cd

p are the text's probabilities, w_ij the cosine from clip i to each of its k nearest clips. Both public
solvers divide the log-likelihood, which sums over hundreds of dimensions, and the affinities by 50.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from prism_audio.geometry.sphere import normalise
from prism_audio.io.types import Float64
from prism_audio.methods.neighbours import graph, nearest
from prism_audio.methods.posterior import log_posterior

# The public solvers' divisor of likelihood and affinity.
TEMPER = 50.0
# Variances below this fraction of their mean would be a coordinate that never varies.
VARIANCE_FLOOR = 1e-6


def affinity(E: Float64, k: int) -> sparse.csr_array:
    """w + w^T (N, N), with the cosines from every row to its ``k`` nearest in w."""
    index, cosine = nearest(E, E, k, itself=True)
    W = graph(index, cosine, len(E))
    return W + W.T


def log_likelihood(X: Float64, mu: Float64, v: Float64) -> Float64:
    """g (n, C) for means ``mu`` (C, d) and variances ``v``, (C, d) or one (d,) for all classes."""
    scaled = mu / v
    squares = X**2 @ (1 / np.broadcast_to(v, mu.shape)).T
    return np.asarray(X @ scaled.T - 0.5 * (squares + np.sum(mu * scaled, axis=1)))


def deviations(E: Float64, z: Float64, mu: Float64) -> Float64:
    """sum_i z_ic (e_i - mu_c)^2 for every class and coordinate (C, d)."""
    total = z.T @ E**2 - 2 * mu * (z.T @ E) + z.sum(axis=0)[:, None] * mu**2
    return np.asarray(np.maximum(total, 0))


def unit_means(sums: Float64) -> Float64:
    """Class means of unit length from class sums (C, d)."""
    return np.asarray(normalise(sums), np.float64)


def positive(v: Float64) -> Float64:
    """Variances with a floor, so that they can be divided by."""
    return np.asarray(np.maximum(v, VARIANCE_FLOOR * max(float(v.mean()), VARIANCE_FLOOR)))


def fit_mixture(
    E: Float64,
    log_text: Float64,
    start: tuple[Float64, Float64],
    update: Callable[[Float64], tuple[Float64, Float64]],
    k: int,
    rounds: int,
    steps: int,
) -> tuple[Float64, Float64, Float64]:
    """z, mu and v after ``rounds`` of assignments; ``update`` takes z to the next mu and v."""
    W, z, (mu, v) = affinity(E, k), np.exp(log_text), start
    for _ in range(rounds):
        z = assignments(z, log_text, log_likelihood(E, mu, v), W, k, steps)
        mu, v = update(z)
    return assignments(z, log_text, log_likelihood(E, mu, v), W, k, steps), mu, v


def assignments(
    z: Float64, log_text: Float64, likelihood: Float64, W: sparse.csr_array, k: int, steps: int
) -> Float64:
    """z (N, C) after ``steps`` updates."""
    for _ in range(steps):
        pull = TEMPER / (2 * k) * (W @ z)
        z = np.exp(log_posterior(log_text + (likelihood + pull) / TEMPER))
    return z

"""Random problems with the structure PRISM is made for: classes, a modality gap, a noisy subspace."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def problem(N, d, C, seed=0, dtype=np.float64, noise=0.6, shift=0.4, rank=None):
    """Rows E (N, d), prototypes T (C, d) and true classes (N,)."""
    rng = np.random.default_rng([seed, N, d, C])
    rank = rank or max(2, d // 8)
    T = unit(rng.standard_normal((C, d)) + rng.standard_normal(d))
    truth = rng.permutation(np.arange(N) % C)
    skew = rng.standard_normal((d, d)) / np.sqrt(d)
    turn = expm(0.3 * (skew - skew.T))
    basis = np.linalg.qr(rng.standard_normal((d, rank)))[0].T
    strength = np.linspace(1.0, 0.3, rank)
    E = T[truth] @ turn + shift * basis[0]
    E += noise * (rng.standard_normal((N, rank)) * strength) @ basis
    E += 0.25 * rng.standard_normal((N, d)) / np.sqrt(d)
    return unit(E).astype(dtype), T.astype(dtype), truth


# Varied N, d, C; among them N < d, C near d, many and few clips a class.
SHAPES = [
    (200, 16, 2),
    (300, 16, 5),
    (120, 24, 3),
    (400, 32, 4),
    (500, 32, 10),
    (250, 48, 7),
    (600, 64, 10),
    (90, 64, 3),
    (800, 64, 20),
    (40, 64, 4),
    (300, 80, 50),
    (700, 96, 12),
    (60, 96, 6),
    (500, 128, 10),
    (1000, 128, 5),
    (100, 128, 8),
    (350, 160, 15),
    (900, 192, 25),
    (150, 200, 10),
    (600, 256, 10),
    (400, 256, 50),
]

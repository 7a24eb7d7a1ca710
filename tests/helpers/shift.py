"""An easy shift: clusters around prototypes that were rotated and moved, and a noisy subspace."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from prism_audio.methods import Context


def unit(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def shifted(N=600, d=128, C=10, seed=0, turn=0.8, shift=1.5, noise=1.0, spread=1.0):
    """Rows E (N, d), prototypes T (C, d), true classes (N,), and the direction of the shift (d,).

    The background pulls every clip towards one direction, and that direction is nearer to some
    classes than to others: those are predicted too often, as in a real place.
    """
    rng = np.random.default_rng([seed, N, d, C])
    T = unit(rng.standard_normal((C, d)) + 0.5 * rng.standard_normal(d))
    truth = rng.permutation(np.arange(N) % C)
    skew = rng.standard_normal((d, d)) / np.sqrt(d)
    background = unit(unit(rng.standard_normal(d)) + 0.6 * T[0] + 0.3 * T[1 % C])
    basis = np.linalg.qr(rng.standard_normal((d, max(2, d // 8))))[0]
    E = T[truth] @ expm(turn * (skew - skew.T) / 2) + shift * background
    E += noise * rng.standard_normal((N, basis.shape[1])) @ basis.T / np.sqrt(basis.shape[1])
    E += spread * rng.standard_normal((N, d)) / np.sqrt(d)
    return unit(E), T, truth, background


def text_context(T, spread=0.5, seed=5):
    """Further text about the classes of T: three templates and two noise phrases around each."""
    rng = np.random.default_rng(seed)
    offsets = spread * rng.standard_normal((5, 1, T.shape[1])) / np.sqrt(T.shape[1])
    stack = unit(T + offsets * (1 + T))
    return Context(prompt_text=stack[:3], noise_text=stack[3:])


def accuracy(labels, truth):
    return float(np.mean(labels == truth))

"""Balanced assignments: class biases under which every class gets the same share of the clips.

    v such that  sum_i softmax_c(s_ic + v_c) = N / C  for every class c          (Sinkhorn, Cuturi 2013)

A start for the rounds. Noise that adds a constant to every class score draws zero-shot to a few
classes; balancing takes that constant off whatever it is. It asks for every class, so what comes of it
is used only as far as a start that asks for none agrees (:mod:`prism_audio.geometry.guard`).
"""

from __future__ import annotations

import numpy as np

from prism_audio.geometry.products import Float, Float64, product

ITERATIONS = 100
# Largest relative error of a class's share at which the shares are even enough to start from.
TOLERANCE = 0.01
# How far a bias may move before the exponentials are taken anew: none may vanish or grow too large.
FAR = 50.0


def balanced_head(rows: Float, T: Float, softness: float) -> Float64:
    """Logits (d + 1, C) for rows [e | 1] that give every class its share of ``rows`` (N, d).

    Parameters
    ----------
    rows, T : arrays
        Unit rows, and unit prototypes (C, d).
    softness : float
        Temperature, in lengths of the scores less their mean over the rows.

    Returns
    -------
    (d + 1, C) array
        Zero-shot scores over the temperature, with the biases as last row.
    """
    text = T.astype(np.float64)
    S = product(rows, T.T).astype(np.float64)
    deviations = S - S.mean(axis=0)
    deviations -= deviations.mean(axis=1, keepdims=True)
    unit = float(np.sqrt(np.mean(np.einsum("ic,ic->i", deviations, deviations))))
    if not unit > 0:
        return np.vstack([text.T, np.zeros(len(text))])
    scale = 1 / (softness * unit)
    return np.vstack([scale * text.T, balancing_bias(scale * S)])


def balancing_bias(logits: Float64) -> Float64:
    """v (C,) such that softmax(logits + v) has even column sums."""
    N, C = logits.shape
    v, moved = -logits.mean(axis=0), np.full(C, np.inf)
    for _ in range(ITERATIONS):
        if np.abs(moved).max() > FAR:  # exponentials for the biases so far
            K = logits + v
            K -= K.max(axis=1, keepdims=True)
            np.exp(K, out=K)
            moved = np.zeros(C)
        gain = np.exp(moved)
        r = gain * product((1 / product(K, gain[:, None]).T), K)[0]
        # A class without any mass would ask for an infinite bias.
        share = np.maximum(r * C / N, 1e-9)
        v -= np.log(share)
        moved -= np.log(share)
        if np.abs(share - 1).max() < TOLERANCE:
            break
    return np.asarray(v)

"""Class probabilities from cosines: softmax, entropy, and the scale (inverse temperature).

    p_ic = exp(s <e_i, t_c>) / sum_k exp(s <e_i, t_k>),      H_i = -sum_c p_ic log p_ic / log C

The scale s belongs to the encoder: CLIP learns s = 100, and methods made for CLIP assume it. Its effect
depends on how far the cosines of an encoder spread over the classes. Where they spread ten times as
far, every posterior at s = 100 is certain, and methods that weigh confidences see no difference.
``"matched"`` therefore takes the scale at which the median clip of the batch has an entropy of
:data:`TYPICAL_ENTROPY`. It does not change when all cosines are multiplied by a number or shifted by
one, so it works with any encoder. The cost: a batch that really is uncertain gets the confidence of any
other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import RowMethod

CLIP_SCALE = 100.0
# The middle of the window (.2 to .5) in which TDA takes a CLIP posterior for one that is unsure.
TYPICAL_ENTROPY = 0.35
_HALVINGS = 60


@dataclass(frozen=True)
class ScaledMethod(RowMethod):
    """A method that takes class probabilities from the cosines with the text."""

    scale: float | str = CLIP_SCALE  # a number, or "matched"


def log_posterior(logits: Float64) -> Float64:
    """log p (N, C) from logits (N, C).

    The largest logit is taken off first and for good: with logits in the millions, what is added to
    it and taken off again later would be lost in rounding.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def entropy(log_p: Float64) -> Float64:
    """Entropy of every row as a fraction of the largest, log C; zero where there is one class."""
    C = log_p.shape[1]
    if C == 1:
        return np.zeros(len(log_p))
    return np.asarray(-np.einsum("ij,ij->i", np.exp(log_p), log_p) / np.log(C))


def resolve_scale(cosines: Float64, scale: float | str) -> float:
    """``scale`` itself when it is a number; the matched scale of these cosines for ``"matched"``."""
    return matched_scale(cosines) if scale == "matched" else float(scale)


def matched_scale(cosines: Float64) -> float:
    """The s at which the median entropy of softmax(s cosines) is :data:`TYPICAL_ENTROPY`.

    The entropy of a row falls as s grows, so the median does, and halving finds it. Where all
    classes are alike for most clips there is no such s, and CLIP's is as good as any.
    """
    spread = np.ptp(cosines, axis=1)
    if cosines.shape[1] == 1 or np.median(spread) <= 0:
        return CLIP_SCALE
    low, high = 0.0, 1.0 / float(np.median(spread))
    while np.median(entropy(log_posterior(high * cosines))) > TYPICAL_ENTROPY:
        low, high = high, 2 * high
        if high * spread.max() > 1e6:
            return CLIP_SCALE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if np.median(entropy(log_posterior(middle * cosines))) > TYPICAL_ENTROPY:
            low = middle
        else:
            high = middle
    return high

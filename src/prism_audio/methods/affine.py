"""Train a channel-wise affine map of embeddings with Adam: shared by TENT and CoNMix.

    x_i = gain * e_i + bias / sqrt(d),      l_ic = s <x_i, t_c> / |x_i|

Both methods train the gain and bias of a network's normalisation layers (or more). With embeddings
alone, one such layer behind the encoder is the nearest equivalent. The bias is in units of 1 / sqrt(d),
the size of an entry of a unit row, so that a step of the optimiser means the same for gain and bias.

With g_ic = dLoss/dl_ic, m_ic = s g_ic / |x_i| and w_i = sum_c g_ic l_ic / |x_i|^2 the chain rule gives

    dLoss/dx_i = sum_c m_ic t_c - w_i x_i
    dLoss/dgain = sum_i e_i * dLoss/dx_i,      dLoss/dbias = sum_i dLoss/dx_i / sqrt(d)

which are products of E, E * E and T with small matrices: no N x d temporary is made.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, linear_head
from prism_audio.methods.posterior import ScaledMethod, resolve_scale


def identity(d: int) -> Float64:
    """The map (2, d) that changes nothing: a gain of ones, a bias of zeros."""
    return np.stack([np.ones(d), np.zeros(d)])


class Scores:
    """Logits of unit rows ``E`` (N, d) against prototypes ``T`` (C, d) as a function of the map.

    A map ``at`` is an array (2, d): its gain and its bias.
    """

    def __init__(self, E: Float64, T: Float64, s: float) -> None:
        self.E, self.T, self.s = E, T, s
        self.squares = E * E
        self.unit = 1 / np.sqrt(E.shape[1])

    def lengths(self, at: Float64) -> Float64:
        """|x_i| (N,), one where x is zero: a silent clip under no bias."""
        gain, shift = at[0], at[1] * self.unit
        square = self.squares @ gain**2 + 2 * (self.E @ (gain * shift)) + shift @ shift
        lengths = np.sqrt(np.maximum(square, 0))
        return np.where(lengths > 0, lengths, 1.0)

    def logits(self, at: Float64, lengths: Float64 | None = None) -> Float64:
        """l (N, C), with the lengths |x_i| where they are known already."""
        A, b = self.head(at)
        lengths = self.lengths(at) if lengths is None else lengths
        return np.asarray(self.s * (self.E @ A + b) / lengths[:, None])

    def gradient(self, at: Float64, slope: Callable[[Float64], Float64]) -> Float64:
        """dLoss/dmap (2, d), where ``slope`` takes logits to dLoss/dlogits, both (N, C)."""
        lengths = self.lengths(at)
        logits = self.logits(at, lengths)
        g = slope(logits)
        m = self.s * g / lengths[:, None]
        w = np.einsum("ij,ij->i", g, logits) / lengths**2
        gain, shift = at[0], at[1] * self.unit
        wE = w @ self.E
        slopes = np.einsum("cd,cd->d", m.T @ self.E, self.T)
        slopes -= gain * (w @ self.squares) + shift * wE
        total = m.sum(axis=0) @ self.T - gain * wE - w.sum() * shift
        return np.stack([slopes, total * self.unit])

    def rows(self, at: Float64) -> Float64:
        """The mapped unit rows (N, d)."""
        return np.asarray((at[0] * self.E + at[1] * self.unit) / self.lengths(at)[:, None])

    def head(self, at: Float64) -> tuple[Float64, Float64]:
        """<x, t_c> as e A + b; its argmax is the label, which does not depend on |x|."""
        return (at[0] * self.T).T, (at[1] * self.unit) @ self.T.T


class Adam:
    """Adam (Kingma and Ba, ICLR 2015) with its usual constants."""

    def __init__(self, rate: float) -> None:
        self.rate, self.t = rate, 0
        self.m: float | Float64 = 0.0
        self.v: float | Float64 = 0.0

    def step(self, at: Float64, g: Float64) -> Float64:
        """The point after one step down the gradient ``g``."""
        self.t += 1
        self.m = self.m + 0.1 * (g - self.m)
        self.v = self.v + 0.001 * (g * g - self.v)
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return np.asarray(at - self.rate * m / (np.sqrt(v) + 1e-8))


@dataclass(frozen=True)
class AffineMethod(ScaledMethod):
    """A method that minimises a loss of the logits, starting from the identity map."""

    rate: float = 1e-3  # size of a step of Adam

    kind = Kind.BLIND
    gradients = True

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        scores = Scores(E, T, resolve_scale(E @ T.T, self.scale))
        return linear_head(E, *scores.head(self.train(scores)))

    @abstractmethod
    def train(self, scores: Scores) -> Float64:
        """The map (2, d) at the end of the descent."""

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
from prism_audio.methods.base import Fitted, Kind, RowMethod, linear_head
from prism_audio.methods.posterior import CLIP_SCALE, resolve_scale

# dLoss/dlogits from logits, both (N, C)
LogitGradient = Callable[[Float64], Float64]


@dataclass(frozen=True)
class Affine:
    """Gain (d,) and bias (d,) of a map, or of a step between maps."""

    gain: Float64
    bias: Float64

    @classmethod
    def identity(cls, d: int) -> Affine:
        """The map that changes nothing."""
        return cls(np.ones(d), np.zeros(d))

    def without(self, coordinates: slice) -> Affine:
        """The map that ignores these coordinates of an embedding."""
        gain = self.gain.copy()
        gain[coordinates] = 0
        return Affine(gain, self.bias)

    def __add__(self, other: Affine) -> Affine:
        return Affine(self.gain + other.gain, self.bias + other.bias)


class Scores:
    """Logits of unit rows ``E`` (N, d) against prototypes ``T`` (C, d) as a function of the map."""

    def __init__(self, E: Float64, T: Float64, s: float) -> None:
        self.E, self.T, self.s = E, T, s
        self.squares = E * E
        self.unit = 1 / np.sqrt(E.shape[1])

    def lengths(self, at: Affine) -> Float64:
        """|x_i| (N,), one where x is zero: a silent clip under no bias."""
        shift = at.bias * self.unit
        square = self.squares @ at.gain**2 + 2 * (self.E @ (at.gain * shift)) + shift @ shift
        lengths = np.sqrt(np.maximum(square, 0))
        return np.where(lengths > 0, lengths, 1.0)

    def logits(self, at: Affine) -> Float64:
        """l (N, C)."""
        return self._logits(at, self.lengths(at))

    def _logits(self, at: Affine, lengths: Float64) -> Float64:
        dots = self.E @ (at.gain * self.T).T + (at.bias * self.unit) @ self.T.T
        return np.asarray(self.s * dots / lengths[:, None])

    def gradient(self, at: Affine, slope: LogitGradient) -> Affine:
        """dLoss/dgain and dLoss/dbias, where ``slope`` takes logits to dLoss/dlogits."""
        lengths = self.lengths(at)
        logits = self._logits(at, lengths)
        g = slope(logits)
        m = self.s * g / lengths[:, None]
        w = np.einsum("ij,ij->i", g, logits) / lengths**2
        shift = at.bias * self.unit
        wE = w @ self.E
        gain = np.einsum("cd,cd->d", m.T @ self.E, self.T)
        gain -= at.gain * (w @ self.squares) + shift * wE
        total = m.sum(axis=0) @ self.T - at.gain * wE - w.sum() * shift
        return Affine(gain, total * self.unit)

    def rows(self, at: Affine) -> Float64:
        """The mapped unit rows (N, d)."""
        X = at.gain * self.E + at.bias * self.unit
        return np.asarray(X / self.lengths(at)[:, None])

    def fitted(self, at: Affine) -> Fitted:
        """The classifier of the mapped rows; the argmax does not depend on their length."""
        return linear_head(self.E, (at.gain * self.T).T, (at.bias * self.unit) @ self.T.T)


class Adam:
    """Adam (Kingma and Ba, ICLR 2015) on an :class:`Affine`, with its usual constants."""

    def __init__(self, d: int, rate: float) -> None:
        self.rate, self.t = rate, 0
        self.m, self.v = np.zeros(2 * d), np.zeros(2 * d)

    def step(self, at: Affine, slope: Affine) -> Affine:
        """The point after one step downhill."""
        g = np.concatenate([slope.gain, slope.bias])
        self.t += 1
        self.m += 0.1 * (g - self.m)
        self.v += 0.001 * (g * g - self.v)
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        change = self.rate * m / (np.sqrt(v) + 1e-8)
        d = len(at.gain)
        return Affine(at.gain - change[:d], at.bias - change[d:])


@dataclass(frozen=True)
class AffineMethod(RowMethod):
    """A method that minimises a loss of the logits, starting from the identity map.

    Parameters
    ----------
    scale : float or "matched"
        Scale of the softmax; see :mod:`prism_audio.methods.posterior`.
    rate : float
        Size of a step of Adam.
    """

    scale: float | str = CLIP_SCALE
    rate: float = 1e-3

    kind = Kind.BLIND
    gradients = True

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        scores = Scores(E, T, resolve_scale(E @ T.T, self.scale))
        return scores.fitted(self.train(scores))

    @abstractmethod
    def train(self, scores: Scores) -> Affine:
        """The map at the end of the descent."""

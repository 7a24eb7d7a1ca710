"""Gaussian mixture by EM: one Gaussian a class, shared shrunk covariance, means anchored to the text.

    r_ic  proportional to  pi_c N(e_i; mu_c, S)                  start: softmax(s <e_i, t_c>)
    mu_c  = (sum_i r_ic e_i + kappa a_c) / (sum_i r_ic + kappa)
    a_c   = mean(E) + g (t_c - mean(T))
    S     = S_W + rho tr(S_W)/d I,       S_W = sum_ic r_ic (e_i - mu_c)(e_i - mu_c)^T / N
    pi_c  = (sum_i r_ic + 1) / (N + C), or 1 / C with ``prior="even"``

The anchors a_c are the deviations of the text, moved to the mean of the audio: the text's own positions
would count the modality gap as a difference between classes. g is the gain that best fits the text's
deviations to those of the first class means. kappa is the weight of an anchor, in clips.

Source: discriminant analysis with a shrunk covariance (Friedman, "Regularized Discriminant Analysis",
JASA 1989) under EM with a conjugate prior on the means: the classical way to use unlabelled clips. It
ends as a linear head.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from prism_audio.errors import InputError
from prism_audio.geometry.ccvd import NO_SCATTER
from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, linear_head
from prism_audio.methods.posterior import ScaledMethod, log_posterior, resolve_scale


@dataclass(frozen=True)
class GaussianEM(ScaledMethod):
    """Linear discriminant analysis without labels."""

    iterations: int = 10  # rounds of EM
    kappa: float = 5.0  # weight of the text anchor of a class, in clips
    rho: float = 1.0  # shrinkage of the covariance, in units of the mean variance
    prior: str = "learned"  # whether the class proportions pi are updated, or stay equal

    name = "gaussian_em"
    origin = "Friedman, JASA 1989, under EM with text anchors"
    kind = Kind.RIVAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior not in ("learned", "even"):
            raise InputError(f"gaussian_em: prior={self.prior!r}; wanted 'learned' or 'even'")

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        cosines = E @ T.T
        R = np.exp(log_posterior(resolve_scale(cosines, self.scale) * cosines))
        anchors, gram = text_anchors(E, T, R), E.T @ E
        A, b = T.T, np.zeros(len(T))
        for _ in range(self.iterations):
            A, b = gaussian_head(E, gram, R, anchors, self.kappa, self.rho)
            if self.prior == "learned":
                b += np.log((R.sum(axis=0) + 1) / (len(E) + len(T)))
            R = np.exp(log_posterior(E @ A + b))
        return linear_head(E, A, b)


def text_anchors(E: Float64, T: Float64, R: Float64) -> Float64:
    """mean(E) + g (t_c - mean(T)), g >= 0 by least squares over class means weighted by ``R``."""
    mean = E.mean(axis=0)
    n_c = R.sum(axis=0)
    audio = R.T @ E - n_c[:, None] * mean  # deviations times their weights
    text = T - T.mean(axis=0)
    size = float(np.sum(n_c * np.einsum("ij,ij->i", text, text)))
    g = max(float(np.vdot(audio, text)) / size, 0.0) if size > 0 else 0.0
    return np.asarray(mean + g * text)


def gaussian_head(
    E: Float64, gram: Float64, R: Float64, anchors: Float64, kappa: float, rho: float
) -> tuple[Float64, Float64]:
    """log N(e; mu_c, S) as e A + b, up to what is the same for all classes."""
    N, d = E.shape
    n_c = R.sum(axis=0)
    sums = R.T @ E
    mu = (sums + kappa * anchors) / (n_c + kappa)[:, None]
    # sum_ic r_ic (e_i - mu_c)(e_i - mu_c)^T without the N C differences; rows of R sum to one.
    cross = mu.T @ sums
    S = (gram - cross - cross.T + (mu.T * n_c) @ mu) / N
    S[np.diag_indices(d)] += rho * max(np.trace(S), NO_SCATTER) / d
    A = linalg.solve(S, mu.T, assume_a="pos", check_finite=False)
    b = -0.5 * np.einsum("cd,dc->c", mu, A)
    return np.asarray(A), np.asarray(b)

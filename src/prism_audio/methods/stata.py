"""StatA: a Gaussian mixture that stays near the text where there are few clips.

    minimise  - sum_ic z_ic log N(e_i; mu_c, diag(v)) - sum_ij w_ij <z_i, z_j> / 2
              + sum_i KL(z_i || p_i) + alpha sum_c KL(N(t_c, diag(v_0)) || N(mu_c, diag(v)))

over assignments z, means mu and one diagonal covariance v; p = softmax(s <e, t>). Setting gradients
to zero gives, in turn,

    mu_c = (sum_i z_ic e_i + alpha t_c) / (sum_i z_ic + alpha)
    v    = (sum_ic z_ic (e_i - mu_c)^2 + alpha sum_c (v_0 + (t_c - mu_c)^2)) / (N + alpha C)
    z_i  = softmax(log p_i + log N(e_i; mu, v) + sum_j w_ij z_j)

The statistical anchor, the last term, is the text's own Gaussian: a class without clips keeps its
prototype, which is what makes the method safe in batches of few classes.

Source: Zanella et al., "Realistic Test-Time Adaptation of Vision-Language Models", CVPR 2025, on the
transductive mixture of their TransCLIP (NeurIPS 2024). Deviations: one covariance for all classes;
w_ij is the cosine to the 3 nearest clips, made symmetric; ten rounds of five assignment steps. An
unseen clip is scored without neighbours, by the mixture and the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod, linear_head
from prism_audio.methods.neighbours import graph, nearest
from prism_audio.methods.posterior import CLIP_SCALE, log_posterior, resolve_scale


@dataclass(frozen=True)
class StatA(RowMethod):
    """Anchored mixture of Gaussians.

    Parameters
    ----------
    scale : float or "matched"
        Scale of the softmax; see :mod:`prism_audio.methods.posterior`.
    alpha : float
        Weight of the anchor, in clips a class.
    neighbours : int
        Clips whose assignments pull at a clip's own.
    rounds, steps : int
        Updates of the mixture, and assignment steps in each.
    """

    scale: float | str = CLIP_SCALE
    alpha: float = 1.0
    neighbours: int = 3
    rounds: int = 10
    steps: int = 5

    name = "stata"
    origin = "Zanella et al., StatA, CVPR 2025"
    kind = Kind.RIVAL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        cosines = E @ T.T
        s = resolve_scale(cosines, self.scale)
        log_text = log_posterior(s * cosines)
        index, cosine = nearest(E, E, self.neighbours, itself=True)
        W = graph(index, np.maximum(cosine, 0), len(E))
        W = (W + W.T) / 2
        z = np.exp(log_text)
        squares = np.einsum("id,id->d", E, E)
        v_0 = second_moment(squares, z.T @ E, T, z) / len(E)
        v_0 = np.maximum(v_0, 1e-6 * max(v_0.mean(), 1e-6))  # a coordinate that never varies
        for _ in range(self.rounds):
            mu, v = mixture(E, squares, T, z, v_0, self.alpha)
            A, b = mu.T / v[:, None], -0.5 * np.sum(mu**2 / v, axis=1)
            fixed = log_text + E @ A + b
            for _ in range(self.steps):
                z = np.exp(log_posterior(fixed + W @ z))
        head = linear_head(E, A + s * T.T, b)
        return Fitted(z.argmax(axis=1), head.dim, head.serve, head.size)


def second_moment(squares: Float64, sums: Float64, mu: Float64, z: Float64) -> Float64:
    """sum_ic z_ic (e_i - mu_c)^2 for every coordinate (d,); rows of z sum to one.

    ``squares`` (d,) are sum_i e_i^2, ``sums`` (C, d) are z^T E.
    """
    total = squares - 2 * np.einsum("cd,cd->d", mu, sums) + z.sum(axis=0) @ mu**2
    return np.asarray(np.maximum(total, 0))


def mixture(
    E: Float64, squares: Float64, T: Float64, z: Float64, v_0: Float64, alpha: float
) -> tuple[Float64, Float64]:
    """Means (C, d) and variances (d,) for assignments ``z``, anchored to N(t_c, v_0)."""
    C, sums = len(T), z.T @ E
    mu = (sums + alpha * T) / (z.sum(axis=0) + alpha)[:, None]
    anchor = alpha * (C * v_0 + np.sum((T - mu) ** 2, axis=0))
    return mu, (second_moment(squares, sums, mu, z) + anchor) / (len(E) + alpha * C)

"""StatA: a Gaussian mixture whose classes stay near the text where there are few clips.

    z by :mod:`prism_audio.methods.mixture`, from z = p = softmax(s <e, t>), mu = t, v = v_0
    b_c  = n_c / (n_c + alpha),      n_c = clips whose largest z is c
    mu_c = normalise(b_c normalise(sum_i z_ic e_i) + (1 - b_c) t_c)
    v_c  = b_c sum_i z_ic (e_i - mu_c)^2 / sum_i z_ic + (1 - b_c) (v_0 + (t_c - mu_c)^2)
    v_0  = sum_ic p_ic (e_i - t_c)^2 / N

The statistical anchor is the text's own Gaussian N(t_c, v_0): a class without clips keeps its
prototype, which makes the method safe in batches of few classes.

Source: Zanella et al., "Realistic Test-Time Adaptation of Vision-Language Models", CVPR 2025, with the
rules of the authors' public solver: likelihood and affinity divided by 50, normalised means, a diagonal
covariance for every class without its determinant in the likelihood, hard counts n_c, ten rounds of
five assignment steps. Deviations: an unseen clip is scored without neighbours, by mixture and text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, highest
from prism_audio.methods.mixture import (
    TEMPER,
    deviations,
    fit_mixture,
    log_likelihood,
    positive,
    unit_means,
)
from prism_audio.methods.posterior import ScaledMethod, log_posterior, resolve_scale


@dataclass(frozen=True)
class StatA(ScaledMethod):
    """Anchored mixture of Gaussians."""

    alpha: float = 1.0  # weight of the anchor, in clips a class
    neighbours: int = 3  # nearest clips whose assignments pull at a clip's own
    # Updates of the mixture, and assignment steps in each.
    rounds: int = 10
    steps: int = 5

    name = "stata"
    origin = "Zanella et al., StatA, CVPR 2025"
    kind = Kind.RIVAL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        cosines = E @ T.T
        s = resolve_scale(cosines, self.scale)
        log_text = log_posterior(s * cosines)
        v_0 = positive(deviations(E, np.exp(log_text), T).sum(axis=0) / len(E))
        start = T, np.tile(v_0, (len(T), 1))
        update = partial(self._mixture, E, T, v_0)
        z, mu, v = fit_mixture(E, log_text, start, update, self.neighbours, self.rounds, self.steps)

        def score(X: Float64) -> Float64:
            return np.asarray(s * (X @ T.T) + log_likelihood(X, mu, v) / TEMPER)

        return Fitted(z.argmax(axis=1), T.shape[1], highest(score), 3 * T.size)

    def _mixture(self, E: Float64, T: Float64, v_0: Float64, z: Float64) -> tuple[Float64, Float64]:
        n = np.bincount(z.argmax(axis=1), minlength=len(T))
        b = (n / (n + self.alpha))[:, None]
        mu = unit_means(b * unit_means(z.T @ E) + (1 - b) * T)
        mass = np.maximum(z.sum(axis=0), np.finfo(float).tiny)[:, None]
        v = b * deviations(E, z, mu) / mass + (1 - b) * (v_0 + (T - mu) ** 2)
        return mu, positive(v)

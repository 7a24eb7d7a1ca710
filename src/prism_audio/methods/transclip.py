"""TransCLIP: a Gaussian mixture of the clips, tied to the text's probabilities and to neighbours.

    z by :mod:`prism_audio.methods.mixture`, from z = p = softmax(s <e, t>)
    mu_c = normalise(sum_i z_ic e_i),      v = sum_ic z_ic (e_i - mu_c)^2 / N, one for all classes
    start: mu_c from the 8 clips with the largest p_ic, weighted by it;  v = 1 / d

Source: Zanella, Gerin and Ben Ayed, "Boosting Vision-Language Models with Transduction", NeurIPS 2024,
zero-shot form, with the constants of the authors' public solver (3 neighbours, ten rounds of five
assignment steps, likelihood and affinity divided by 50). Deviations: an unseen clip is scored without
neighbours, by mixture and text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, linear_head
from prism_audio.methods.mixture import TEMPER, deviations, fit_mixture, positive, unit_means
from prism_audio.methods.posterior import ScaledMethod, log_posterior, resolve_scale


@dataclass(frozen=True)
class TransCLIP(ScaledMethod):
    """Mixture of Gaussians with text probabilities and neighbours."""

    neighbours: int = 3  # nearest clips whose assignments pull at a clip's own
    first: int = 8  # clips that make the first mean of a class
    # Updates of the mixture, and assignment steps in each.
    rounds: int = 10
    steps: int = 5

    name = "transclip"
    origin = "Zanella et al., TransCLIP, NeurIPS 2024"
    kind = Kind.RIVAL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        cosines = E @ T.T
        s = resolve_scale(cosines, self.scale)
        log_text = log_posterior(s * cosines)
        start = first_means(E, log_text, cosines, self.first), np.full(E.shape[1], 1 / E.shape[1])

        def update(z: Float64) -> tuple[Float64, Float64]:
            mu = unit_means(z.T @ E)
            return mu, positive(deviations(E, z, mu).sum(axis=0) / len(E))

        z, mu, v = fit_mixture(E, log_text, start, update, self.neighbours, self.rounds, self.steps)
        A, b = mu.T / v[:, None], -0.5 * np.sum(mu**2 / v, axis=1)
        head = linear_head(E, s * T.T + A / TEMPER, b / TEMPER)
        return Fitted(z.argmax(axis=1), head.dim, head.serve, head.size)


def first_means(E: Float64, log_text: Float64, cosines: Float64, first: int) -> Float64:
    """Means (C, d) of the ``first`` most probable clips of each class, weighted by probability."""
    means = []
    for log_p, cosine in zip(log_text.T, cosines.T, strict=True):
        # Cosines order clips whose probability is the same number.
        rows = np.lexsort((-cosine, -log_p))[:first]
        means.append(np.exp(log_p[rows] - log_p[rows[0]]) @ E[rows])
    return unit_means(np.stack(means))

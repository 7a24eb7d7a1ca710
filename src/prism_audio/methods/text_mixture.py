"""Text-anchored spherical Gaussian mixture for CLAP: EM whose posteriors include the text's.

    r_i  = softmax(s <e_i, t_c> - |e_i - mu_c|^2 / (2 sigma^2))          start: softmax(s <e_i, t_c>)
    mu_c = sum_i r_ic e_i / sum_i r_ic,      sigma^2 = sum_ic r_ic |e_i - mu_c|^2 / (N d)

Source: Zhou and Wang, "Transductive Zero-Shot Audio Classification with Audio-Language Models", arXiv
2606.17160, 2026. Only its abstract was at hand: a text-anchored spherical Gaussian-mixture EM in the
manner of TransCLIP. The rest is our reading: the text enters as TransCLIP's KL term with weight one,
there are no neighbours, and the likelihood is not divided; ten rounds. It ends as a linear head.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, linear_head
from prism_audio.methods.mixture import deviations
from prism_audio.methods.posterior import ScaledMethod, log_posterior, resolve_scale


@dataclass(frozen=True)
class TextMixture(ScaledMethod):
    """Spherical mixture with text posteriors."""

    rounds: int = 10  # rounds of EM

    name = "text_mixture"
    origin = "Zhou and Wang, transductive zero-shot audio classification, arXiv 2606.17160, 2026"
    kind = Kind.RIVAL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        text = resolve_scale(E @ T.T, self.scale) * T.T
        R = np.exp(log_posterior(E @ text))
        A, b = text, np.zeros(len(T))
        for _ in range(self.rounds):
            n = np.maximum(R.sum(axis=0), np.finfo(float).tiny)[:, None]
            mu = R.T @ E / n
            variance = max(float(deviations(E, R, mu).sum()) / E.size, np.finfo(float).eps)
            precision = 1 / variance
            A, b = text + precision * mu.T, -0.5 * precision * np.sum(mu**2, axis=1)
            R = np.exp(log_posterior(E @ A + b))
        return linear_head(E, A, b)

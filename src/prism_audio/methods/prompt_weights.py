"""Entropy-weighted prompts: weight prompt templates so that predictions on the batch are confident.

    logit_ic = s sum_j beta_j <e_i, t_jc>,      beta_j >= 0, sum_j beta_j = 1
    beta     = argmin  mean_i H(softmax(logit_i)) + KL(beta || even)

where t_jc is class c in template j. A stationary point has beta_j proportional to exp(-g_j), with g the
gradient of the mean entropy; it is approached by averaging log beta with -g.

Source: El Khoury et al., "Leveraging Prediction Entropy for Automatic Prompt Weighting in Zero-Shot
Audio-Language Classification", arXiv 2601.05011, 2026: weighted logits, and weights on the simplex that
minimise the entropy of a batch. The KL term and the iteration are ours; the paper's own were not at
hand. It ends as a linear head.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import ContextMethod, Fitted, Kind, linear_head
from prism_audio.methods.posterior import CLIP_SCALE, log_posterior, resolve_scale


@dataclass(frozen=True)
class PromptWeights(ContextMethod):
    """Weights of prompt templates by entropy."""

    # Scale of the softmax; see :mod:`prism_audio.methods.posterior`.
    scale: float | str = CLIP_SCALE
    steps: int = 20  # iterations

    name = "prompt_weights"
    origin = "El Khoury et al., prompt weighting by entropy, arXiv 2601.05011, 2026"
    kind = Kind.RIVAL
    needs = "prompt_text"

    def adapt(self, E: Float64, T: Float64, known: Float64) -> Fitted:
        cosines = np.einsum("id,jcd->jic", E, known, optimize=True)
        s = resolve_scale(cosines.mean(axis=0), self.scale)
        log_beta = np.full(len(known), -np.log(len(known)))
        for _ in range(self.steps):
            log_p = log_posterior(s * np.tensordot(np.exp(log_beta), cosines, axes=1))
            p = np.exp(log_p)
            H = -np.sum(p * log_p, axis=1, keepdims=True)
            g = s * np.einsum("jic,ic->j", cosines, -p * (log_p + H)) / len(E)
            log_beta = log_posterior((log_beta - g)[None] / 2)[0]
        return linear_head(E, np.tensordot(np.exp(log_beta), known, axes=1).T)

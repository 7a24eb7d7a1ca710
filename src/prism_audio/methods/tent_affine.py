"""TENT on an affine map: minimise the entropy of the predictions by gradient.

    Loss = mean_i H(softmax(logits_i)),     dLoss/dlogit_ic = -p_ic (log p_ic + H_i) / N

over the gain and bias of :mod:`prism_audio.methods.affine`, starting from the identity.

Source: Wang et al., "Tent: Fully Test-Time Adaptation by Entropy Minimization", ICLR 2021.
Deviations: the map is one layer behind the encoder, not the normalisation layers inside it, so nothing
is re-estimated from batch statistics; all clips are one batch, thirty steps (about one pass in
batches of 64 through 2000 clips), so that their order does not matter. Adam and its rate of 1e-3 are
TENT's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.affine import Adam, AffineMethod, Scores, identity
from prism_audio.methods.posterior import log_posterior


@dataclass(frozen=True)
class TentAffine(AffineMethod):
    """Entropy minimisation."""

    steps: int = 30  # steps of Adam

    name = "tent_affine"
    origin = "Wang et al., TENT, ICLR 2021, on an affine map of the embeddings"

    def train(self, scores: Scores) -> Float64:
        at, adam = identity(scores.E.shape[1]), Adam(self.rate)
        for _ in range(self.steps):
            at = adam.step(at, scores.gradient(at, entropy_slope))
        return at


def entropy_slope(logits: Float64) -> Float64:
    """Gradient of the mean entropy with respect to the logits."""
    log_p = log_posterior(logits)
    p = np.exp(log_p)
    H = -np.einsum("ij,ij->i", p, log_p)
    return np.asarray(-p * (log_p + H[:, None]) / len(logits))

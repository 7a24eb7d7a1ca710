"""CoNMix on an affine map: clustered pseudo-labels, consistency, and predictions of full rank.

    Loss = mean_i -log p_i,y_i                      pseudo-labels y from class centroids
         + mean_i KL(p_i || q_i)                    q: the prediction for a damaged copy of the clip
         - |P|_* / N                                nuclear norm of the predictions P (N, C)

over the gain and bias of :mod:`prism_audio.methods.affine`, starting from the identity. Labels are
updated in every round from centroids of the mapped clips, weighted by their predictions, as in SHOT.
The nuclear norm is largest when predictions are confident *and* spread over many classes; its gradient
is P (P^T P)^(-1/2).

Source: Kumar et al., "CoNMix for Source-free Single and Multi-target Domain Adaptation", WACV 2023.
Deviations: one layer behind the encoder instead of the whole encoder (the paper's "millions" of
parameters become 2d); a copy is damaged by setting a fixed tenth of the coordinates to zero, another
tenth in every step, where the paper augments images; p counts as fixed in the KL term; equal weights;
MixUp distillation, which merges several target domains, has nothing to merge and is left out. Adam as
in ``tent_affine``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg

from prism_audio.geometry.sphere import Labels, class_means, normalise
from prism_audio.io.types import Float64
from prism_audio.methods.affine import Adam, AffineMethod, Scores, identity
from prism_audio.methods.posterior import log_posterior

# Every 10th coordinate is dropped, so ten steps damage each once.
PARTS = 10
# Eigenvalues of P^T P below this fraction of the largest are rounding.
RANK_TOLERANCE = 1e-12


@dataclass(frozen=True)
class CoNMixAffine(AffineMethod):
    """Pseudo-label consistency."""

    # How often pseudo-labels are made, and steps of Adam in between.
    rounds: int = 3
    steps: int = 10

    name = "conmix_affine"
    origin = "Kumar et al., CoNMix, WACV 2023, on an affine map of the embeddings"

    def train(self, scores: Scores) -> Float64:
        at, adam = identity(scores.E.shape[1]), Adam(self.rate)
        for _ in range(self.rounds):
            y = clustered_labels(scores.rows(at), np.exp(log_posterior(scores.logits(at))))
            for step in range(self.steps):
                damage = np.ones_like(at)
                damage[0, step % PARTS :: PARTS] = 0
                p = np.exp(log_posterior(scores.logits(at)))
                whole = scores.gradient(at, partial(label_slope, y=y))
                copy = scores.gradient(damage * at, partial(consistency_slope, p=p))
                # Coordinates that the damaged copy ignores have no part in its gradient.
                at = adam.step(at, whole + damage * copy)
        return at


def clustered_labels(U: Float64, p: Float64) -> Labels:
    """Class of the nearest centroid: once with centroids weighted by ``p``, once by those labels."""
    C = p.shape[1]
    y = (U @ normalise(p.T @ U).T).argmax(axis=1)
    centroids, n = class_means(U, y, C, np.ones(len(U)))
    return np.asarray(np.where(n > 0, U @ normalise(centroids).T, -np.inf).argmax(axis=1))


def label_slope(logits: Float64, y: Labels) -> Float64:
    """Gradient of the two terms of the undamaged clip."""
    return pseudo_slope(logits, y) + rank_slope(logits)


def pseudo_slope(logits: Float64, y: Labels) -> Float64:
    """Gradient of the mean cross-entropy with labels ``y``."""
    slope = np.exp(log_posterior(logits))
    slope[np.arange(len(y)), y] -= 1
    return np.asarray(slope / len(y))


def consistency_slope(logits: Float64, p: Float64) -> Float64:
    """Gradient of the mean KL(p || softmax(logits)) with ``p`` fixed."""
    return np.asarray((np.exp(log_posterior(logits)) - p) / len(p))


def rank_slope(logits: Float64) -> Float64:
    """Gradient of minus the nuclear norm of softmax(logits), divided by N."""
    P = np.exp(log_posterior(logits))
    square, right = linalg.eigh(P.T @ P, check_finite=False)
    numerical = square > RANK_TOLERANCE * square[-1]  # the rest is rounding
    right = right[:, numerical]
    dP = -P @ ((right / np.sqrt(square[numerical])) @ right.T) / len(P)
    return np.asarray(P * (dP - np.einsum("ij,ij->i", P, dP)[:, None]))

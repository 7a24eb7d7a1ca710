"""TDA, the training-free dynamic adapter, as published: a stream of clips fills two small caches.

    positive:  + alpha sum_k exp(-beta (1 - <e, k>)) onehot(y_k)         alpha = 2,    beta = 5
    negative:  - alpha sum_k exp(-beta (1 - <e, k>)) [lo < p_k < hi]     alpha = .117, beta = 1
    logits  =  s <e, t_c> + positive - negative

Every clip first enters the caches and is then scored with them. The positive cache keeps for every
predicted class the 3 clips of lowest entropy. The negative cache keeps 2 for every class among the
clips whose entropy lies between .2 and .5 of its maximum; its value marks the classes that such a clip
probably is *not*: those of a probability between .03 and 1.

Source: Karmanov et al., "Efficient Test-Time Adaptation of Vision-Language Models", CVPR 2024.
Deviations: one view of a clip, where the paper averages augmented views of an image; one setting for
all data. The order of the clips changes the labels. ``predict`` uses the caches as they are after the
last clip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, highest
from prism_audio.methods.posterior import ScaledMethod, entropy, log_posterior, resolve_scale


class Cache:
    """For each of ``C`` classes the ``shots`` most confident clips: keys (d,) with values (C,)."""

    def __init__(self, C: int, shots: int, d: int, alpha: float, beta: float) -> None:
        self.alpha, self.beta = alpha, beta
        self.entropies = np.full((C, shots), np.inf)  # infinite where a place is free
        self.keys = np.zeros((C, shots, d))
        self.values = np.zeros((C, shots, C))  # zero where a place is free: it adds nothing

    def offer(self, c: int, key: Float64, value: Float64, h: float) -> None:
        """Keep the clip if its class has a free place or a less confident clip."""
        worst = int(self.entropies[c].argmax())
        if h < self.entropies[c, worst]:
            self.entropies[c, worst] = h
            self.keys[c, worst] = key
            self.values[c, worst] = value

    def score(self, E: Float64) -> Float64:
        """alpha exp(-beta (1 - <e, k>)) summed over the cache by value, shape (M, C)."""
        C, shots, d = self.keys.shape
        affinity = np.exp(self.beta * (E @ self.keys.reshape(-1, d).T - 1))
        return np.asarray(self.alpha * (affinity @ self.values.reshape(C * shots, C)))


@dataclass(frozen=True)
class TDA(ScaledMethod):
    """Caches of confident and uncertain clips, filled clip by clip."""

    # The positive cache: places for a class, weight and sharpness; then those of the negative one.
    shots: int = 3
    alpha: float = 2.0
    beta: float = 5.0
    negative_shots: int = 2
    negative_alpha: float = 0.117
    negative_beta: float = 1.0
    # Entropies, as fractions of the maximum, between which a clip goes into the negative cache.
    unsure: tuple[float, float] = (0.2, 0.5)
    # Probabilities between which a class counts as denied by such a clip.
    mask: tuple[float, float] = (0.03, 1.0)

    name = "tda"
    origin = "Karmanov et al., CVPR 2024"
    kind = Kind.BLIND

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        (C, d), N = T.shape, len(E)
        cosines = E @ T.T
        s = resolve_scale(cosines, self.scale)
        log_p = log_posterior(s * cosines)
        H, y, p = entropy(log_p), log_p.argmax(axis=1), np.exp(log_p)
        denied = ((p > self.mask[0]) & (p < self.mask[1])).astype(np.float64)
        unsure = (self.unsure[0] < H) & (self.unsure[1] > H)
        onehot = np.eye(C)
        positive = Cache(C, self.shots, d, self.alpha, self.beta)
        negative = Cache(C, self.negative_shots, d, self.negative_alpha, self.negative_beta)

        def score(X: Float64) -> Float64:
            return s * (X @ T.T) + positive.score(X) - negative.score(X)

        labels = np.empty(N, dtype=np.intp)
        for i in range(N):
            positive.offer(y[i], E[i], onehot[y[i]], H[i])
            if unsure[i]:
                negative.offer(y[i], E[i], denied[i], H[i])
            labels[i] = score(E[i : i + 1])[0].argmax()

        size = T.size + positive.keys.size + negative.keys.size + negative.values.size
        return Fitted(labels, d, highest(score), size)

"""OnZeta: a stream of clips learns class biases and audio proxies of the classes, clip by clip.

    p_i   proportional to  softmax(s <e_i, t_c>) exp(rho_c)
    rho_c <- max(rho_c - (c_r / sqrt(i)) (p_ic - alpha / C), 0)
    q_i   = softmax(<e_i, w_c> / tau),   w_c <- normalise(w_c - (c_w / (tau sqrt(i))) (q_ic - p_ic) e_i)
    label = argmax (1 - b_i) p_i + b_i q_i,      b_i = beta sqrt(i / N),   start: rho = 0, w = t

rho raises classes that are predicted less often than alpha / C; w moves the text into the audio space.

Source: Qian and Hu, "Online Zero-Shot Classification with CLIP", ECCV 2024, with the constants of the
authors' public script (c_r = 20, alpha = 1, c_w = .5, tau = .04, beta = .8). Deviations: one pass in
the order of the batch, where the script averages five random orders. The order of the clips changes
the labels. ``predict`` uses rho and w as they are after the last clip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, highest
from prism_audio.methods.mixture import unit_means
from prism_audio.methods.posterior import ScaledMethod, log_posterior, resolve_scale


@dataclass(frozen=True)
class OnZeta(ScaledMethod):
    """Online class biases and audio proxies."""

    tau: float = 0.04  # temperature of the proxies' softmax
    # First steps c_w and c_r.
    proxy_rate: float = 0.5
    bias_rate: float = 20.0
    alpha: float = 1.0  # share of the clips, in units of 1 / C, up to which a class is raised
    beta: float = 0.8  # weight of the proxies at the end of the stream

    name = "onzeta"
    origin = "Qian and Hu, OnZeta, ECCV 2024"
    kind = Kind.RIVAL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        (N, d), C = E.shape, len(T)
        s = resolve_scale(E @ T.T, self.scale)
        logits = s * (E @ T.T)
        w, rho = T.copy(), np.zeros(C)
        labels = np.empty(N, dtype=np.intp)
        for i in range(N):
            slower = np.sqrt(i + 1)
            p = np.exp(log_posterior(logits[i : i + 1] + rho))[0]
            rho = np.maximum(rho - self.bias_rate / slower * (p - self.alpha / C), 0)
            q = np.exp(log_posterior(E[i : i + 1] @ w.T / self.tau))[0]
            share = self.beta * np.sqrt((i + 1) / N)
            labels[i] = ((1 - share) * p + share * q).argmax()
            w = unit_means(w - self.proxy_rate / (self.tau * slower) * np.outer(q - p, E[i]))

        def score(X: Float64) -> Float64:
            p = np.exp(log_posterior(s * (X @ T.T) + rho))
            q = np.exp(log_posterior(X @ w.T / self.tau))
            return np.asarray((1 - self.beta) * p + self.beta * q)

        return Fitted(labels, d, highest(score), T.size + w.size + C)

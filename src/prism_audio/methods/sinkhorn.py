"""Class balancing by Sinkhorn iterations: every class gets an equal share of the clips.

    P_ic proportional to exp(s <e_i, t_c> + v_c),   v such that sum_i P_ic = N / C for every c

with rows that sum to one. Only the biases v are learnt: y_i = argmax_c <e_i, t_c> + v_c / s.

Source: Cuturi, "Sinkhorn Distances", NeurIPS 2013; as a balancing of pseudo-labels Asano et al.,
"Self-labelling via simultaneous clustering and representation learning", ICLR 2020. A control: it
shows how much of a gain comes from classes that are predicted too often. It assumes equally frequent
classes, which holds in benchmarks and seldom outside. Deviations: the entropic regularisation is the
encoder's own scale s; computed in logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, linear_head
from prism_audio.methods.posterior import ScaledMethod, log_posterior, resolve_scale


@dataclass(frozen=True)
class Sinkhorn(ScaledMethod):
    """Balance the classes."""

    # At most so many; it stops when every class has its share to ``tolerance``.
    iterations: int = 300
    tolerance: float = 1e-3  # largest relative error of a class's share

    name = "sinkhorn"
    origin = "Cuturi, NeurIPS 2013; Asano et al., ICLR 2020"
    kind = Kind.CONTROL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        cosines = E @ T.T
        s = resolve_scale(cosines, self.scale)
        v = balancing_bias(s * cosines, self.iterations, self.tolerance)
        return linear_head(E, T.T, v / s)


def balancing_bias(logits: Float64, iterations: int, tolerance: float) -> Float64:
    """v (C,), of mean zero, such that softmax(logits + v) has equal column sums."""
    N, C = logits.shape
    v = np.zeros(C)
    for _ in range(iterations):
        log_p = log_posterior(logits + v)
        # The largest entry is subtracted first: a class without mass would need the logarithm of zero.
        top = log_p.max(axis=0)
        surplus = top + np.log(np.exp(log_p - top).sum(axis=0)) - np.log(N / C)
        v -= surplus
        if np.abs(surplus).max() < tolerance:
            break
    return np.asarray(v - v.mean())

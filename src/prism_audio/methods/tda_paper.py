"""TDA as the PRISM paper runs it: a confidence-weighted cache over the whole batch, in rounds.

    score_ic = <e_i, t_c> + alpha sum_(k in cache of c) w_k exp(-beta (1 - <e_i, k>)),   alpha = .5

three times: the scores of a round say which 3 clips of the highest confidence kappa = max_c score
make the cache of each class in the next one, with weights w_k = kappa_k / (sum of kappa in the class).

Source: the PRISM paper's description of its baseline ("a confidence-weighted key-value cache
adaptation method, alpha = 0.5, 3 rounds"), after Karmanov et al., CVPR 2024. Deviations: the paper
prints no more than that. The size of the cache of a class (3) and the sharpness (5) are TDA's. There
is no negative cache, since none is mentioned. The batch is taken at once, so its order does not matter.
Logits and confidences are plain cosines, as everywhere in the paper, with no softmax scale before them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.geometry.sphere import Labels
from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod, highest


@dataclass(frozen=True)
class TDAPaper(RowMethod):
    """A cache of the surest clips, made anew in every round."""

    # As in the PRISM paper.
    rounds: int = 3
    alpha: float = 0.5
    # As in TDA.
    shots: int = 3
    beta: float = 5.0

    name = "tda_paper"
    origin = "the PRISM paper's run of Karmanov et al., CVPR 2024"
    kind = Kind.BLIND

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        keys, values = E[:0], np.zeros((0, len(T)))

        def score(X: Float64) -> Float64:
            affinity = np.exp(self.beta * (X @ keys.T - 1))
            return np.asarray(X @ T.T + self.alpha * (affinity @ values))

        for _ in range(self.rounds):
            scores = score(E)
            members = surest(scores, self.shots)
            keys, values = E[members], class_weights(scores[members])
        serve = highest(score)
        return Fitted(serve(E), T.shape[1], serve, T.size + keys.size + len(keys))


def surest(scores: Float64, shots: int) -> Labels:
    """Rows with the ``shots`` highest scores in every predicted class, class after class."""
    y = scores.argmax(axis=1)
    by_class = np.lexsort((-scores.max(axis=1), y))
    first = np.searchsorted(y[by_class], y[by_class])
    return np.asarray(by_class[np.arange(len(y)) - first < shots])


def class_weights(scores: Float64) -> Float64:
    """Weight (M, C) of every row in its class: its share of the class's positive confidence."""
    values = np.zeros_like(scores)
    rows = np.arange(len(scores))
    values[rows, scores.argmax(axis=1)] = np.maximum(scores.max(axis=1), 0)
    totals = values.sum(axis=0)
    return np.asarray(values / np.where(totals > 0, totals, 1))

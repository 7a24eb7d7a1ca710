"""What an adapter says of every clip of a place: answers, probabilities and scores as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_audio.geometry.confidence import confidence, probabilities
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, unit_rows
from prism_audio.io.types import Float, Float64
from prism_audio.model.adapter import Adapter

# The class of a clip that is none of the classes to tell apart.
OTHER = -1


@dataclass(frozen=True, eq=False)
class Population:
    """All clips of a place (N).

    Attributes
    ----------
    answer, zero_shot : (N,) int arrays
        The class that the adapter gives, and the class that zero-shot gives; :data:`OTHER` where it
        is a background word.
    probability, zero_shot_probability : (N,) arrays
        How likely each of the two is, both by the adapter.
    score : (N,) array
        The cosine of the answer.
    convinced : (N,) bool array
        Whether the answer is good enough to be reported.
    """

    answer: Labels
    zero_shot: Labels
    probability: Float64
    zero_shot_probability: Float64
    score: Float64
    convinced: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.answer)


def survey(E: Float, adapter: Adapter) -> Population:
    """What ``adapter`` says of the embeddings ``E`` (N, d), block by block."""
    facts, N = adapter.facts, len(E)
    answer, zero_shot = adapter.predict(E), np.empty(N, dtype=np.intp)
    sure, first, score, conviction = (np.empty(N) for _ in range(4))
    temperature, share = facts.temperature, facts.zero_shot_share or 0.0
    for block in row_blocks(N):
        S, S_0 = adapter.scores(E[block]), unit_rows(E[block]) @ adapter.zero_shot_head
        temperature = temperature or confidence(S, S_0).temperature
        each, y = np.arange(len(S)), answer[block]
        zero_shot[block] = z = S_0.argmax(axis=1)
        P = probabilities(S, temperature)
        sure[block], first[block], score[block] = P[each, y], P[each, z], S[each, y]
        conviction[block] = (1 - share) * S[each, y] + share * S_0[each, y]
    for y in (answer, zero_shot):
        y[y >= len(adapter.labels) - (facts.background or 0)] = OTHER
    convinced = answer != OTHER
    if facts.unknown_threshold is not None:
        convinced &= conviction >= facts.unknown_threshold
    return Population(answer, zero_shot, sure, first, score, convinced)

"""What an adapter says of every clip of a place: answers, probabilities and scores as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.errors import InputError
from prism_audio.geometry.confidence import confidence, probabilities
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, unit_rows
from prism_audio.io.types import Float, Float64
from prism_audio.labelling.labeller import label_thresholds
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


def survey(blocks: Iterable[Float], adapter: Adapter) -> Population:
    """What ``adapter`` says of embeddings (n, d) that come in blocks, such as a store."""
    facts = adapter.facts
    temperature, share = facts.temperature, facts.zero_shot_share or 0.0
    columns: list[tuple[NDArray[Any], ...]] = []
    for E in (block[rows] for block in blocks for rows in row_blocks(len(block))):
        S, S_0 = adapter.scores(E), unit_rows(E) @ adapter.zero_shot_head
        temperature = temperature or confidence(S, S_0).temperature
        P, each = probabilities(S, temperature), np.arange(len(S))
        y, z = adapter.predict(E), S_0.argmax(axis=1)
        conviction = (1 - share) * S[each, y] + share * S_0[each, y]
        columns.append((y, z, P[each, y], P[each, z], S[each, y], conviction))
    if not columns:
        raise InputError("there are no embeddings to look at; run 'prism embed' to its end")
    answer, zero_shot, sure, first, score, conviction = map(
        np.concatenate, zip(*columns, strict=True)
    )
    for y in (answer, zero_shot):
        y[y >= len(adapter.labels) - (facts.background or 0)] = OTHER
    convinced = (answer != OTHER) & (conviction >= label_thresholds(adapter)[answer])
    return Population(answer, zero_shot, sure, first, score, convinced)

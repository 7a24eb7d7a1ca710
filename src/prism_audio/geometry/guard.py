"""How much of a correction a batch can carry, decided without labels.

A correction learnt from few clips, or from clips of few of the classes, destroys the classifier for
everything else. Two numbers of the batch say how far it can be trusted; each becomes a weight between
0 and 1 that rises smoothly with the evidence (a Hill curve, x^h / (x^h + half^h)):

    clips a class   n = N / C                  half at  7, h = 3
    coverage        v = exp(H(counts)) / C     half at .6, h = 8

where counts are the labels after the last round and exp(H) their effective number of classes: a batch
must hold more than half of the classes before it may speak for all. Their product w mixes the map with
the identity, W <- w W + (1 - w) [I; 0]: with the first clips it is zero-shot, and it grows from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism_audio.geometry.products import Float64
from prism_audio.geometry.sphere import Labels

CLIPS_HALF, CLIPS_POWER = 7.0, 3.0
COVERAGE_HALF, COVERAGE_POWER = 0.6, 8.0
# From here on more clips would change the weight by less than a tenth.
ENOUGH_CLIPS = 15.0
# Weights this close to 0 or 1 are called what they are.
NEGLIGIBLE = 0.02


class Verdict(str):
    """One of ``"adapted"``, ``"shrunk"``, ``"zero-shot"``, with its reasons and numbers.

    It compares and prints as that word.
    """

    reasons: tuple[str, ...]
    numbers: dict[str, Any]

    def __new__(
        cls, kind: str, reasons: tuple[str, ...] = (), numbers: dict[str, Any] | None = None
    ) -> Verdict:
        if kind not in ("adapted", "shrunk", "zero-shot"):
            raise ValueError(f"a verdict is adapted, shrunk or zero-shot, not {kind!r}")
        verdict = super().__new__(cls, kind)
        verdict.reasons = reasons
        verdict.numbers = numbers or {}
        return verdict

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.reasons, self.numbers


def hill(x: float, half: float, power: float) -> float:
    """x^power / (x^power + half^power): 0 at 0, one half at ``half``, 1 far above it."""
    return float(x**power / (x**power + half**power))


def effective_classes(y: Labels, C: int) -> float:
    """exp of the entropy of the class counts: C for even counts, 1 for a single class."""
    share: Float64 = np.bincount(y, minlength=C) / len(y)
    share = share[share > 0]
    return float(np.exp(-np.sum(share * np.log(share))))


def judge(y: Labels, C: int) -> Verdict:
    """The verdict on a batch with labels ``y``; ``numbers["weight"]`` is how much may be used."""
    clips = len(y) / C
    effective = effective_classes(y, C)
    by_clips = hill(clips, CLIPS_HALF, CLIPS_POWER)
    by_coverage = hill(effective / C, COVERAGE_HALF, COVERAGE_POWER)
    weight = by_clips * by_coverage
    numbers = {
        "clips": len(y),
        "classes": C,
        "clips_per_class": clips,
        "effective_classes": effective,
        "weight_by_clips": by_clips,
        "weight_by_coverage": by_coverage,
        "weight": weight,
    }
    reasons = []
    if clips < ENOUGH_CLIPS:
        want = int(np.ceil(ENOUGH_CLIPS * C))
        reasons.append(f"{len(y)} clips for {C} classes are few; {want} or more would do")
    if by_coverage < 0.9:
        reasons.append(f"the batch sounds like about {effective:.0f} of the {C} classes")
    if weight < NEGLIGIBLE:
        return Verdict("zero-shot", tuple(reasons), numbers | {"weight": 0.0})
    if not reasons or weight > 1 - NEGLIGIBLE:
        reasons.append(f"{clips:.0f} clips a class, about {effective:.0f} of {C} classes heard")
        return Verdict("adapted", tuple(reasons), numbers)
    return Verdict("shrunk", (f"{100 * weight:.0f} % of the correction", *reasons), numbers)

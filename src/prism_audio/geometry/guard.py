"""How much of a correction a batch can carry, decided without labels.

A correction learnt from few clips, or from clips of few of the classes, destroys the classifier for
everything else. Two questions are put to the batch; their answers lie between 0 and 1.

*Would other clips of this place say the same?* Two halves of the batch are calibrated on their own.
With x_A, x_B and x_0 the scores that the two maps and zero-shot give the whole batch, centred over the
classes and of unit length, the correction is x_A - x_0, and

    r = cos(x_A - x_0, x_B - x_0)

is the part of it that both halves found: what is only noise of a half the other does not repeat. It is
known from N / 2 different clips only, so the lower end of its interval counts (Fisher), and the whole
batch is surer than its halves (Spearman and Brown):

    r_low        = tanh(artanh(r) - 3 / sqrt(N / 2 - 3)),      reliability = 2 r_low / (1 + r_low)

The best estimate of a quantity measured with some reliability keeps that part of what was measured.

*Does it speak for all classes?* What both halves agree on may still hold only for the classes heard.

    coverage     v = exp(mean of H(counts) + (K - 1) / (2 N)) / C        weight v^8 / (v^8 + 0.65^8)

over two labellings of the N clips, in which K classes occur; the second term is the Miller-Madow
correction for few clips. One round with hard assignments gives the first: where noise draws zero-shot
to a few classes it hears too few. One with soft assignments gives the second: where few classes are
there it spreads them, and hears too many. A batch must hold more than half of the classes before it may
speak for all; where it holds so few that nothing would be left of any correction, the halves are not
asked.

The product w mixes the map with the identity, W <- w W + (1 - w) [I; 0]: with the first clips it is
zero-shot, and it grows from there.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from prism_audio.geometry.products import Float, Float64, product
from prism_audio.geometry.source import RowSource, ScanResult
from prism_audio.geometry.sphere import Labels, row_norms

COVERAGE_HALF, COVERAGE_POWER = 0.65, 8.0
# Below this a correction is none; from that on more of it would change few labels.
NEGLIGIBLE, MOST = 0.02, 0.7
# Standard errors that the reliability is lowered by.
DEVIATIONS = 3.0
# Squared difference of unit scores below which two maps are the same.
ROUNDING = 1e-9


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


def reliability(source: RowSource, T: Float, *maps: Float64) -> float:
    """The part of a correction that is surely no chance of the batch: 0 without two maps.

    ``maps`` are the two (d + 1, d) maps, ``source`` the whole batch, ``T`` (C, d) the prototypes.
    """
    if len(maps) < 2:
        return 0.0
    text = T.T.astype(np.float64)
    heads = [product(W, text) for W in (np.eye(*maps[0].shape), *maps)]
    heads = [head - head.mean(axis=1, keepdims=True) for head in heads]
    (lengths,), (inner,) = source.scan(partial(_score_products, heads=heads))
    norms = np.sqrt(np.diag(inner))
    if not norms.all():
        return 0.0
    x = inner / np.outer(norms, norms)
    a, b = 2 - 2 * x[0, 1], 2 - 2 * x[0, 2]  # squared lengths of the two corrections
    both = 1 + x[1, 2] - x[0, 1] - x[0, 2]
    if min(a, b) < ROUNDING:
        return 0.0
    # A clip that came twice is one clip.
    clips = len(np.unique(lengths.astype(np.float32)))
    r = lower_end(float(both / np.sqrt(a * b)), clips / 2)
    return 2 * r / (1 + r)


def _score_products(E: Float, *, heads: list[Float64]) -> ScanResult:
    """Inner products (3, 3) between the scores that three heads give a block; lengths of the first."""
    scores = [product(E, head[:-1].astype(E.dtype)) + head[-1] for head in heads]
    S = np.stack([x.ravel() for x in scores])
    return ScanResult((row_norms(scores[0]),), (product(S, S.T),))


def lower_end(r: float, n: float) -> float:
    """The lower end of the interval of a correlation ``r`` from ``n`` samples, not below 0."""
    if n <= 3:
        return 0.0
    error = 1 / np.sqrt(n - 3)
    # An r of one would stay one, however few the samples.
    r = min(r, 1 - error**2 / 2)
    return float(max(np.tanh(np.arctanh(r) - DEVIATIONS * error), 0.0))


def hill(x: float, half: float, power: float) -> float:
    """x^power / (x^power + half^power): 0 at 0, one half at ``half``, 1 far above it."""
    return float(x**power / (x**power + half**power))


def effective_classes(y: Labels, C: int) -> float:
    """exp of the entropy of the class counts: C for even counts, 1 for a single class.

    Of several labellings (k, N) the mean entropy counts.
    """
    entropies = []
    for labels in np.atleast_2d(y):
        share: Float64 = np.bincount(labels, minlength=C) / len(labels)
        share = share[share > 0]
        entropies.append(-np.sum(share * np.log(share)) + (len(share) - 1) / (2 * len(labels)))
    return float(min(np.exp(np.mean(entropies)), C))


def coverage_weight(y: Labels, C: int) -> float:
    """How far a batch with labels ``y``, (N,) or (k, N), may speak for all C classes, 0 to 1."""
    return hill(effective_classes(y, C) / C, COVERAGE_HALF, COVERAGE_POWER)


def judge(y: Labels, C: int, reliability: float | None) -> Verdict:
    """The verdict on a batch with labels ``y``, (N,) or (k, N), and how much of the map may be used.

    Without a ``reliability`` the batch covers too few classes to ask for one.
    """
    clips = y.shape[-1]
    effective, by_coverage = effective_classes(y, C), coverage_weight(y, C)
    numbers = {
        "clips": clips,
        "classes": C,
        "clips_per_class": clips / C,
        "effective_classes": effective,
        "weight_by_coverage": by_coverage,
    }
    heard = f"the batch sounds like about {effective:.0f} of the {C} classes"
    if reliability is None:
        return Verdict("zero-shot", (heard,), numbers | {"weight": 0.0})
    weight = reliability * by_coverage
    numbers |= {"reliability": reliability, "weight": weight}
    borne_out = (
        f"{clips} clips for {C} classes: two halves bear out {100 * reliability:.0f} % of the "
        "correction"
    )
    if weight >= MOST:
        return Verdict("adapted", (borne_out, heard), numbers)
    # Whichever holds it back; where neither does alone, both together do.
    low = [reliability < MOST, by_coverage < MOST]
    reasons = [
        reason
        for reason, is_low in zip((borne_out, heard), low, strict=True)
        if is_low or not any(low)
    ]
    if weight < NEGLIGIBLE:
        return Verdict("zero-shot", tuple(reasons), numbers | {"weight": 0.0})
    return Verdict("shrunk", (f"{100 * weight:.0f} % of the correction", *reasons), numbers)

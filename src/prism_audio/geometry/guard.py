"""How much of a correction a batch can carry, decided without labels.

    W = (1 - w) [I; -u d] + w (g W_b + (1 - g) W_a)
    g = h o_b / (h o_b + (1 - h) o_a)
    u = w_1 t^2,                       t = (D_0b + D_01 - D_1b) / (2 D_01), from 0 to 1
    w = w_1 s c N / (N + C + 32),      s = D^3 / (D^3 + A^3),      D = 0.2 + sqrt(D_1a D_1b)
                                       c = P^6 / (P^6 + (1 - P)^6),        P = h h_1

Three parts of a correction are known from ever more clips: the shift d of the place from a dozen, the
spread within classes from some dozens, rotation and class means (with the spread in W_a and W_b) from
hundreds.

w_1: *do the clips speak for classes at all?* (:mod:`prism_audio.geometry.shift`). A batch of one class
fits any shift; the shift, and the rest, which builds on it, count as far as several classes explain the
clips better than one cloud, and as far as clips with one label are neighbours
(:mod:`prism_audio.geometry.neighbours`). In short lists the second decides: with two labels text sees a
single direction.

h: *how much of the list was heard?* h is the number of classes heard, exp(entropy) of the labels of W_a,
in units of C (1 - exp(-N / C)): so many of C classes are among N clips if all are as likely.

g: *were all classes heard equally often?* W_b comes from rounds that hold them so, W_a from rounds that
start from what the mixture of the shift has heard and go by its shares. Where it is so the first are
better, by a point or two. Elsewhere they take clips from the classes that are there and give them to
others, and the second are better by several points. Clips that were taken away still lie among those
of their class: o_a and o_b are the odds that neighbours share a label by either
(:mod:`prism_audio.geometry.neighbours`).

t: *do the rounds confirm the shift?* Labels are compared by 1 less Cohen's kappa: D_01 is how far those
after the shift alone are from zero-shot, D_0b and D_1b how far those of W_b are from either. As squares
of distances they tell which part of the step from zero-shot to the shift goes towards W_b, which starts
without the shift. A mixture that has dropped one of two similar classes shifts away from it.

s: *do both kinds of rounds say the same?* D_1a and D_1b are how far their labels are from those after
the shift, A how far they are from each other. D is the correction that they want, A what they do not
agree on. If few classes were heard, one kind of rounds spreads them over the whole list and the other
does not: A is as large as D. In noise D is large, and A may be so too. The 0.2 lets small corrections
pass, of which nothing is known, and which can do little harm.

c: *was most of the list heard?* Of very few classes, say three of fifty, both kinds of rounds make many
small ones, and agree on them. The mixture of the shift, whose means are the text's, does not: h_1 is h
of its shares pi. P is about the part of all pairs of classes of which both were heard.

N / (N + C + 32): class means of n clips are off by 1 / n of the spread within a class, and the text is
worth about one clip of every class; the spread itself needs some more. N counts independent clips
(:mod:`prism_audio.geometry.repeats`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from prism_audio.geometry.neighbours import Neighbours
from prism_audio.geometry.products import Float64
from prism_audio.geometry.shift import Shift
from prism_audio.geometry.sphere import Labels

# Clips that the text is worth for the mean of a class, and for the spread that classes share.
TEXT_WORTH, SPREAD_WORTH = 1.0, 32.0
# Corrections of this size pass.
SMALL = 0.2
# How sharply what speaks for a correction is told from what speaks against it.
SHARPNESS = 3.0
# Steps of the shift of this size are confirmed.
STEP = 0.01
# Below this a part of the correction is none; from that on more of it would change few labels.
NEGLIGIBLE, MOST = 0.02, 0.4


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


def agreement(y: Labels, other: Labels, C: int) -> float:
    """Cohen's kappa between two labellings (N,) with C classes: 1 if equal, 0 by chance or below."""
    same = float(np.mean(y == other))
    shares: list[Float64] = [np.bincount(x, minlength=C) / len(x) for x in (y, other)]
    chance = float(shares[0] @ shares[1])
    return max((same - chance) / (1 - chance), 0.0) if chance < 1 else 0.0


def effective_classes(shares: Float64) -> float:
    """exp(entropy) of shares of classes: how many equally frequent classes are as varied."""
    shares = shares[shares > 0]
    return float(np.exp(-np.sum(shares * np.log(shares))))


def coverage(heard: float, clips: float, C: int) -> float:
    """h: ``heard`` classes as a part of those that ``clips`` clips would hold of ``C`` even ones."""
    return min(heard / (C * (1 - float(np.exp(-clips / C)))), 1.0)


def outweighs(this: float, that: float) -> float:
    """this^3 / (this^3 + that^3)."""
    return float(this**SHARPNESS / (this**SHARPNESS + that**SHARPNESS))


class Heard(NamedTuple):
    """What two kinds of rounds say of a batch.

    Attributes
    ----------
    classes : float
        How many classes those that go by what was heard have heard.
    part : float
        h, the part of the list that these are.
    pairs : float
        P, about the part of all pairs of classes of which both were heard.
    kappa : float
        Agreement of the two, 1 - A.
    change : float
        sqrt(D_1a D_1b), how far they are from the shift alone.
    confirmed : float
        t, the part of the shift that they confirm.
    neighbours : Neighbours
        How far neighbours share the labels of those that hold all classes equally often.
    even : float
        g, how far these are believed rather than those that go by what was heard.
    """

    classes: float
    part: float
    pairs: float
    kappa: float
    change: float
    confirmed: float
    neighbours: Neighbours
    even: float

    @property
    def support(self) -> float:
        """s c: how far the rounds agree, and most of the list was heard."""
        agreed = outweighs(self.change + SMALL, 1 - self.kappa)
        return agreed * outweighs(self.pairs**2, (1 - self.pairs) ** 2)


NOTHING_HEARD = Heard(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, Neighbours(0.0, 0.0), 0.0)


def listen(
    y_a: Labels,
    y_b: Labels,
    y_1: Labels,
    y_0: Labels,
    shares: Float64,
    clips: float,
    neighbours: Sequence[Neighbours],
) -> Heard:
    """What labels (N,) by W_a, W_b, the shift alone and zero-shot say of ``clips`` independent clips.

    ``shares`` (C,) are pi of the mixture of the shift, ``neighbours`` those of the first two labels.
    """
    C = len(shares)
    by_a, by_b = neighbours

    def apart(y: Labels, other: Labels) -> float:
        return 1 - agreement(y, other, C)

    classes = effective_classes(np.bincount(y_a) / len(y_a))
    part = coverage(classes, clips, C)
    D_01, D_0b, D_1b = apart(y_0, y_1), apart(y_0, y_b), apart(y_1, y_b)
    confirmed = (D_0b + D_01 - D_1b + 2 * STEP) / (2 * D_01 + 2 * STEP)
    return Heard(
        classes,
        part,
        part * coverage(effective_classes(shares), clips, C),
        agreement(y_a, y_b, C),
        float(np.sqrt(apart(y_a, y_1) * D_1b)),
        min(max(confirmed, 0.0), 1.0),
        by_b,
        part * by_b.odds / (part * by_b.odds + (1 - part) * by_a.odds),
    )


def carried(clips: float, C: int, weight: float, support: float) -> float:
    """w: how much of the whole correction ``clips`` independent clips of ``C`` classes carry."""
    return weight * support * clips / (clips + TEXT_WORTH * C + SPREAD_WORTH)


def judge(N: int, clips: float, C: int, shift: Shift | None, heard: Heard) -> Verdict:
    """The verdict on ``N`` rows worth ``clips`` independent ones.

    Parameters
    ----------
    N, clips, C : numbers
        Rows, what they are worth, and classes.
    shift : Shift or None
        The shift of the place; None where none could be looked for.
    heard : Heard
        What two kinds of rounds say of them.

    Returns
    -------
    Verdict
        ``numbers`` holds ``shift_weight`` (u) and ``weight`` (w), what the map is mixed with.
    """
    numbers: dict[str, Any] = {"clips": N, "independent_clips": clips, "classes": C}
    numbers |= {
        "clips_per_class": N / C,
        "evidence_weight": 0.0,
        "shift_weight": 0.0,
        "weight": 0.0,
    }
    counted = f"{N} clip{'' if N == 1 else 's'} for {C} classes"
    if clips < 0.9 * N:
        counted += f", worth {clips:.0f} because many are alike"
    if shift is None:
        return Verdict("zero-shot", (f"{counted}: too little to tell classes apart",), numbers)
    w_1 = shift.weight(heard.neighbours.evidence)
    w = carried(clips, C, w_1, heard.support)
    w, u = 0.0 if w < NEGLIGIBLE else w, w_1 * heard.confirmed**2
    numbers |= {"evidence": float(shift.evidence), "evidence_needed": shift.cost}
    numbers |= {"effective_classes": heard.classes, "coverage": heard.part, "evenness": heard.even}
    numbers |= {"agreement": heard.kappa, "change": heard.change, "support": heard.support}
    numbers |= {"pairs_heard": heard.pairs, "neighbour_agreement": heard.neighbours.agreement}
    numbers |= {"shift_confirmed": heard.confirmed}
    if w_1 < NEGLIGIBLE:
        reason = "nothing in them says that they are of several classes"
        return Verdict("zero-shot", (f"{counted}: {reason}",), numbers)
    numbers |= {"evidence_weight": w_1}
    numbers |= {"shift_weight": float(u), "weight": float(w)}
    sounds = f"they sound like about {heard.classes:.0f} of the {C} classes"
    if w >= MOST:
        whole = f"shift, spread and class means of the place are corrected, to {100 * w:.0f} %"
        return Verdict("adapted", (f"{counted}; {sounds}", whole), numbers)
    part = f"the shift of the place is corrected, to {100 * u:.0f} %"
    rest = f"of the rest {100 * w:.0f} % is used"
    wanted = _wanted(clips, C, shift, heard)
    return Verdict("shrunk", (f"{counted}; {sounds}", part, rest, wanted), numbers)


def _wanted(clips: float, C: int, shift: Shift, heard: Heard) -> str:
    """What would allow the whole correction."""
    for times in (1.5, 2, 3, 4, 6, 8, 12, 16):
        more = clips * times
        weight = shift.weight(heard.neighbours.evidence, times)
        if carried(more, C, weight, heard.support) >= MOST:
            return f"about {more - clips:.2g} more clips would allow the rest".replace("e+0", "e")
    apart = f"two calibrations that started differently agree to {100 * heard.kappa:.0f} %"
    return f"{apart}: clips of classes that were not heard yet would allow the rest"

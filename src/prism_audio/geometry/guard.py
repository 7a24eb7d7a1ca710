"""How much of a correction a batch can carry, decided without labels.

    W = (1 - w) [I; -w_1 d] + w W_2,        w = w_1 sqrt(k) h^2 N / (N + C + 16)

Three parts of a correction are known from ever more clips: the shift d of the place from a dozen, the
spread within classes from some dozens, rotation and class means (with the spread in W_2) from hundreds.

w_1: *do the clips speak for classes at all?* (:mod:`prism_audio.geometry.shift`). A batch of one class
fits any shift; the shift counts as far as several classes explain the clips better than one cloud.

k: *would other assumptions say the same?* W_2 comes from rounds that hold every class equally often.
Other rounds start from what the mixture of the shift has heard and go by its shares. k is Cohen's kappa
between their labels, agreement beyond chance. Where all classes are heard the two meet. Where a few are
heard the first spread them over the whole list and the second do not; and a class that attracts
everything misleads neither, because neither starts from zero-shot.

h: *how much of the list was heard?* A map learnt from few classes is wrong for the others, even where
both kinds of rounds agree on what was heard. h is the number of classes heard, exp(entropy) of the
labels of the second kind of rounds, in units of C (1 - exp(-N / C)): so many of C classes are among N
clips if all are as likely. Squared: pairs of classes are told apart, and both must have been heard.

N / (N + C + 16): class means of n clips are off by 1 / n of the spread within a class, and the text is
worth about one clip of every class; the spread itself needs some more. N counts independent clips
(:mod:`prism_audio.geometry.repeats`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism_audio.geometry.products import Float64
from prism_audio.geometry.shift import Shift
from prism_audio.geometry.sphere import Labels

# Clips that the text is worth for the mean of a class, and for the spread that classes share.
TEXT_WORTH, SPREAD_WORTH = 1.0, 16.0
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


def effective_classes(y: Labels) -> float:
    """exp(entropy) of labels (N,): how many equally frequent classes are as varied."""
    shares = np.bincount(y) / len(y)
    shares = shares[shares > 0]
    return float(np.exp(-np.sum(shares * np.log(shares))))


def coverage(heard: float, clips: float, C: int) -> float:
    """h: ``heard`` classes as a part of those that ``clips`` clips would hold of ``C`` even ones."""
    return min(heard / (C * (1 - float(np.exp(-clips / C)))), 1.0)


def carried(clips: float, C: int, weight: float, kappa: float, h: float) -> float:
    """w: how much of the whole correction ``clips`` independent clips of ``C`` classes carry."""
    return weight * float(np.sqrt(kappa)) * h**2 * clips / (clips + TEXT_WORTH * C + SPREAD_WORTH)


def judge(N: int, clips: float, C: int, shift: Shift | None, kappa: float, heard: float) -> Verdict:
    """The verdict on ``N`` rows worth ``clips`` independent ones.

    Parameters
    ----------
    N, clips, C : numbers
        Rows, what they are worth, and classes.
    shift : Shift or None
        The shift of the place; None where none could be looked for.
    kappa : float
        How far two calibrations that started differently agree.
    heard : float
        How many classes they sound like.

    Returns
    -------
    Verdict
        ``numbers`` holds ``shift_weight`` (w_1) and ``weight`` (w), what the map is mixed with.
    """
    numbers: dict[str, Any] = {"clips": N, "independent_clips": clips, "classes": C}
    numbers |= {"clips_per_class": N / C, "shift_weight": 0.0, "weight": 0.0}
    counted = f"{N} clip{'' if N == 1 else 's'} for {C} classes"
    if clips < 0.9 * N:
        counted += f", worth {clips:.0f} because many are alike"
    if shift is None:
        return Verdict("zero-shot", (f"{counted}: too little to tell classes apart",), numbers)
    h = coverage(heard, clips, C)
    w = carried(clips, C, shift.weight, kappa, h)
    w = 0.0 if w < NEGLIGIBLE else w
    numbers |= {"evidence": float(shift.evidence), "evidence_needed": shift.cost}
    numbers |= {"effective_classes": heard, "coverage": h, "agreement": kappa}
    if shift.weight < NEGLIGIBLE:
        reason = "nothing in them says that they are of several classes"
        return Verdict("zero-shot", (f"{counted}: {reason}",), numbers)
    numbers |= {"shift_weight": float(shift.weight), "weight": float(w)}
    sounds = f"they sound like about {heard:.0f} of the {C} classes"
    if w >= MOST:
        whole = f"shift, spread and class means of the place are corrected, to {100 * w:.0f} %"
        return Verdict("adapted", (f"{counted}; {sounds}", whole), numbers)
    part = f"the shift of the place is corrected, to {100 * shift.weight:.0f} %"
    rest = f"of the rest {100 * w:.0f} % is used"
    wanted = _wanted(clips, C, shift, kappa, h)
    return Verdict("shrunk", (f"{counted}; {sounds}", part, rest, wanted), numbers)


def _wanted(clips: float, C: int, shift: Shift, kappa: float, h: float) -> str:
    """What would allow the whole correction."""
    apart = f"two calibrations that started differently agree to {100 * kappa:.0f} %"
    for times in (1.5, 2, 3, 4, 6, 8, 12, 16):
        more = clips * times
        # Evidence grows with the clips, its cost with their logarithm.
        cost = C / 2 * float(np.log(more))
        weight = max(1 - cost / (times * shift.evidence), 0.0)
        if carried(more, C, weight, kappa, h) >= MOST:
            return f"about {more - clips:.2g} more clips would allow the rest".replace("e+0", "e")
    return f"{apart}: clips of classes that were not heard yet would allow the rest"

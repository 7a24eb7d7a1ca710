"""Whether clips of one class lie together: evidence for classes from directions that text does not see.

    kappa_n = (p - sum_c pi_c^2) / (1 - sum_c pi_c^2)
    B       = 2 (n / (n + 4 C))^2 log( (kappa_n / (1 - kappa_n)) / (0.6 / 0.4) )
    o       = ((kappa_n + 0.05) / (1.05 - kappa_n))^4

p is how often one of the k nearest clips has the label of a clip, and pi_c the part of the clips with
label c: kappa_n is 1 if neighbours always share their label, and 0 if they do so by chance. Clips are
near by the cosine of their deviations from the mean clip; of clips that are alike only one counts
(:mod:`prism_audio.geometry.repeats`). With n clips of C classes, n / C - 1 neighbours of a clip are of
its class: k is so many, five at most, and where there is not one of them B is 0.

Text sees C - 1 directions. In a short list one class that is split in two, and two classes that a shift
has moved, look the same there, but mostly not in the others. Mostly: a class of two kinds that lie
apart reaches a high kappa_n as well, and strong noise makes that of several classes low. 0.6 is where it
speaks for neither. B is the squared odds by which kappa_n is above that, as a logarithm. Few clips of a
long list say little.

Neighbours also compare two labellings of the same clips: o are the odds of each, and the one with the
larger odds is the better one. Not in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import Float
from prism_audio.geometry.sphere import Labels

NEAREST = 5
# The agreement of neighbours that speaks neither for several classes nor against them.
USUAL = 0.6
# Clips of every class at which neighbours count for half.
ENOUGH = 4.0
# Agreements are not believed to be nearer to 0 and 1 than this.
SUREST = 0.1
# What keeps odds finite, and how sharply they tell two labellings apart.
LEAST, POWER = 0.05, 4


class Neighbours(NamedTuple):
    """kappa_n, and the evidence B that it is."""

    agreement: float
    evidence: float

    @property
    def odds(self) -> float:
        """o, for the comparison with another labelling."""
        return float(((self.agreement + LEAST) / (1 + LEAST - self.agreement)) ** POWER)


def ask_neighbours(
    likeness: Float, first: Labels, labellings: Sequence[Labels], C: int
) -> list[Neighbours]:
    """What neighbours say of each of some ``labellings`` (n,) with C classes.

    Parameters
    ----------
    likeness : (n, n) array
        Cosines between the clips.
    first : (m,) array
        The clips to count: of clips that are alike only one.
    labellings, C : list of (n,) arrays, and int
        The labels, and how many there may be.
    """
    k = min(NEAREST, len(first) // C - 1)
    if k < 1:
        return [Neighbours(0.0, 0.0)] * len(labellings)
    near = likeness[np.ix_(first, first)]
    np.fill_diagonal(near, -np.inf)
    nearest = np.argpartition(near, -k, axis=1)[:, -k:]
    return [_ask(nearest, y[first], C) for y in labellings]


def _ask(nearest: Labels, y: Labels, C: int) -> Neighbours:
    """The same of clips with labels ``y`` (m,) and neighbours ``nearest`` (m, k)."""
    n = len(y)
    same = float(np.mean(y[nearest] == y[:, None]))
    chance = float(np.sum((np.bincount(y) / n) ** 2))
    kappa = max((same - chance) / (1 - chance), 0.0) if chance < 1 else 0.0
    believed = min(max(kappa, SUREST), 1 - SUREST)
    odds = believed / (1 - believed) / (USUAL / (1 - USUAL))
    return Neighbours(kappa, 2 * (n / (n + ENOUGH * C)) ** 2 * float(np.log(odds)))

"""Active sampling: which clips a person should listen to, so that few labels tell and teach most.

    u_i   = sqrt(p_i (1 - p_i) + d_i / 4 + 1 / 20)             how much a label of clip i is worth
    U_i   = frac(U_0 + rank_i (sqrt 5 - 1) / 2)                a permanent random number, U_0 uniform
    q_i   = -log(1 - U_i) / u_i                                clips are taken by increasing q
    pi_i  = 1 - exp(-t u_i),  sum of pi_i = n                  the inclusion probability of clip i

p_i is the adapter's probability of its answer and d_i is 1 where zero-shot answers something else. The
standard deviation of "right or wrong" is sqrt(p (1 - p)), and the best probabilities for an estimate
are in proportion to it (Neyman 1934); d_i adds that of the difference between the two answers, and
1/20 keeps every clip possible, also where a probability is too sure.

Clips are ranked by predicted label, and at random within a label. Steps of the golden ratio spread U
evenly over every stretch of that ranking, so each label gets its share: a stratified sample that needs
no label with a clip of its own. Scores decide through u alone. A pick spread over them as well would
vary less still, but not in a way that intervals can know (:mod:`prism_audio.evaluation.sampling`).

The order by q does not depend on n (order sampling, Rosén 1997). So the first clips of a pick are a
sample like the whole: one may stop early, and a pick of more clips goes on where a smaller one ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from prism_audio.evaluation.population import Population
from prism_audio.io.types import Float64

FLOOR, DISAGREEMENT = 1 / 20, 1 / 4
GOLDEN = (np.sqrt(5) - 1) / 2


class Picks(NamedTuple):
    """Picked clips, best first: their rows (n,) and their inclusion probabilities (n,)."""

    rows: NDArray[np.intp]
    probability: Float64


def pick(population: Population, n: int, seed: int = 0) -> Picks:
    """Draw ``n`` clips; all, each with probability 1, where there are no more."""
    u = worth(population)
    chosen = np.argsort(_queue(population, u, np.random.default_rng(seed)), kind="stable")[:n]
    return Picks(chosen, inclusion(u, n)[chosen])


def worth(population: Population) -> Float64:
    """How much a label of each clip is worth, u (N,); never zero."""
    p, differs = population.probability, population.answer != population.zero_shot
    return np.asarray(np.sqrt(p * (1 - p) + DISAGREEMENT * differs + FLOOR))


def inclusion(u: Float64, n: int) -> Float64:
    """Inclusion probabilities (N,) of a pick of ``n`` clips worth ``u``."""
    if n >= len(u):
        return np.ones(len(u))
    # Between t with pi_i = n u_i / sum u, which is too small, and one that takes all but nothing.
    low, high = n / u.sum(), 50 / u.min()
    t = brentq(lambda t: -np.expm1(-t * u).sum() - n, low, high)
    return np.asarray(-np.expm1(-t * u))


def _queue(population: Population, u: Float64, rng: np.random.Generator) -> Float64:
    """The order q (N,) in which clips are taken."""
    N = len(u)
    order = np.lexsort((rng.random(N), population.answer))
    rank = np.empty(N)
    rank[order] = np.arange(N)
    return np.asarray(-np.log1p(-((rng.random() + GOLDEN * rank) % 1)) / u)

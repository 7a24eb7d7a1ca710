"""A made-up place whose clips are right as often as a bent probability says."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from prism_audio.evaluation.population import Population
from prism_audio.geometry.sphere import Labels


def a_place(N: int, seed: int, classes: int = 5, spread: float = 0.0) -> tuple[Population, Labels]:
    """A population of ``N`` clips, and what they truly are.

    The adapter is right with expit(0.7 logit(p) - 0.3 + u), u of deviation ``spread`` being the label's
    own; a third of the answers differ from zero-shot's, which is then right one time in ten.
    """
    rng = np.random.default_rng(seed)
    p = rng.beta(2.5, 0.8, N).clip(0.02, 0.999)
    answer = rng.integers(classes, size=N)
    differs = rng.random(N) < 1 / 3
    zero_shot = np.where(differs, (answer + 1) % classes, answer)
    own = spread * np.random.default_rng([seed, classes]).normal(size=classes)
    right = rng.random(N) < expit(0.7 * logit(p) - 0.3 + own[answer])
    first = ~right & differs & (rng.random(N) < 0.1)
    truth = np.where(right, answer, np.where(first, zero_shot, (answer + 2) % classes))
    second = np.where(differs, (1 - p) / 2, p)
    return Population(answer, zero_shot, p, second, p - 0.5, p > 0.3), truth

"""DAS, drift-augmented scoring: a bonus for classes whose noisy text points the way of the clip.

    score_ic = <e_i, t_c> + lambda <e_i, delta_c>
    delta_c  = normalise(mean over noise phrases p of (text("c with p") - t_c))

The direction in which noise moves a class is read from text alone: no batch, no gradients.

Source: Vo, Zaheer and Park, "Drift-Augmented Scoring: Text-Derived Noise Robustness for Zero-Shot
Audio-Language Classification", arXiv 2606.04844, 2026. Its abstract and the caption of its first figure
were at hand: two cosines a class, the second with the unit mean of text drifts. The weight lambda = .1
and the phrases (``NOISE_PHRASES``) are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.geometry.sphere import normalise
from prism_audio.io.types import Float64
from prism_audio.methods.base import ContextMethod, Fitted, Kind, linear_head

# What "c with p" is filled with to make ``Context.noise_text``.
NOISE_PHRASES = (
    "background noise",
    "traffic noise",
    "people talking",
    "wind noise",
    "static noise",
)


@dataclass(frozen=True)
class DAS(ContextMethod):
    """Text-only noise direction."""

    weight: float = 0.1  # lambda, the weight of the drift's cosine

    name = "das"
    origin = "Vo et al., drift-augmented scoring, arXiv 2606.04844, 2026"
    kind = Kind.RIVAL
    needs = "noise_text"

    def adapt(self, E: Float64, T: Float64, known: Float64) -> Fitted:
        drift = np.mean(known - T, axis=0)
        return linear_head(E, (T + self.weight * normalise(drift)).T)

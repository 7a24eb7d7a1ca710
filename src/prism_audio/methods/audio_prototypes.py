"""Text-guided audio prototypes: each class is the mean of the clips nearest to its text.

    A_c = mean of the 35 rows e_i with the largest <e_i, t_c>,     y_i = argmax_c <e_i, A_c / |A_c|>

Source: Kushwaha and Fuentes, "A multimodal prototypical approach for unsupervised sound
classification", Interspeech 2023. Deviations: the clips are the batch itself, not a separate training
set; with fewer than 35 clips a class, N / C are taken, since the others would be of other classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_audio.geometry.sphere import normalise
from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod, linear_head


@dataclass(frozen=True)
class AudioPrototypes(RowMethod):
    """Nearest audio prototype, found by text."""

    neighbours: int = 35  # clips that make a prototype, at most

    name = "audio_prototypes"
    origin = "Kushwaha and Fuentes, multimodal prototypical approach, Interspeech 2023"
    kind = Kind.CONTROL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        k = min(self.neighbours, max(len(E) // len(T), 1))
        # A stable sort settles equal cosines; a silent clip (all zero) is near to nothing.
        nearest = np.argsort(-(T @ E.T), axis=1, kind="stable")[:, :k]
        A = np.stack([E[rows].mean(axis=0) for rows in nearest])
        return linear_head(E, normalise(A).T)

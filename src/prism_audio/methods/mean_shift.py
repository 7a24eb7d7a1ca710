"""Mean shift: move the mean of the recordings onto the mean of the prototypes, and nothing else.

    e' = e - mean(E) + mean(T),      y_i = argmax_c <e'_i, t_c>

Source: the common way to close a modality gap; see Liang et al., "Mind the Gap", NeurIPS 2022. A
control: it shows how much of a gain the translation alone gives. It assumes equally frequent classes.
Deviations: none.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod, linear_head


@dataclass(frozen=True)
class MeanShift(RowMethod):
    """Translate the batch onto the text."""

    name = "mean_shift"
    origin = "Liang et al., Mind the Gap, NeurIPS 2022"
    kind = Kind.CONTROL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        return linear_head(E, T.T, (T.mean(axis=0) - E.mean(axis=0)) @ T.T)

"""Zero-shot classification: the nearest text prototype, without adaptation.

    y_i = argmax_c <e_i, t_c>

Source: Wu et al., "Large-scale Contrastive Language-Audio Pretraining with Feature Fusion and
Keyword-to-Caption Augmentation" (LAION-CLAP), ICASSP 2023. Deviations: none.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_audio.io.types import Float64
from prism_audio.methods.base import Fitted, Kind, RowMethod, linear_head


@dataclass(frozen=True)
class ZeroShot(RowMethod):
    """Nearest text prototype."""

    name = "zero_shot"
    origin = "Wu et al., LAION-CLAP, ICASSP 2023"
    kind = Kind.CONTROL

    def adapt(self, E: Float64, T: Float64) -> Fitted:
        return linear_head(E, T.T)

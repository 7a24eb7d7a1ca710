"""ContextDA, an oracle: subtract from every class score what the background alone would score.

    score_ic = <e_i, t_c> - tau b_c,      b_c = mean over background rows k of <k, t_c>,   tau = .5

Source: Acevedo, Rocamora and Fuentes, "Domain Adaptation Method and Modality Gap Impact in Audio-Text
Models for Prototypical Sound Classification", Interspeech 2025. It must know the background: the text
form reads prompts that name it (three, averaged), the audio form gets the embedding of the background
without the events.

Deviations: the scores are averaged over prompts before they are subtracted, which for one inner
product is the same as averaging the prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_audio.io.types import Float64
from prism_audio.methods.base import ContextMethod, Fitted, Kind, linear_head


@dataclass(frozen=True)
class _ContextDA(ContextMethod):
    """The shared part of both forms."""

    tau: float = 0.5  # part of the background's score that is subtracted

    origin = "Acevedo et al., domain adaptation in audio-text models, Interspeech 2025"
    kind = Kind.ORACLE

    def adapt(self, E: Float64, T: Float64, known: Float64) -> Fitted:
        return linear_head(E, T.T, -self.tau * (known @ T.T).mean(axis=0))


@dataclass(frozen=True)
class ContextDAText(_ContextDA):
    """The background as text: prompts that name it."""

    name = "contextda_text"
    needs = "background_text"


@dataclass(frozen=True)
class ContextDAAudio(_ContextDA):
    """The background as sound: its own embedding."""

    name = "contextda_audio"
    needs = "background_audio"

"""ContextDA: subtract from every class what the background alone would score for it. An oracle.

    score_ic = <e_i, t_c> - tau b_c,      b_c = mean over background rows k of <k, t_c>,   tau = .5

Source: Acevedo, Rocamora and Fuentes, "Domain Adaptation Method and Modality Gap Impact in Audio-Text
Models for Prototypical Sound Classification", Interspeech 2025. It has to be told where it is: the
text form reads prompts that name the background (three, averaged), the audio form is handed the
embedding of the background without the events.

Deviations: the scores are averaged over prompts before they are subtracted, which for one inner
product is the same as averaging the prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float64
from prism_audio.methods.base import Context, Fitted, Kind, RowMethod, linear_head


@dataclass(frozen=True)
class _ContextDA(RowMethod):
    """What both forms share.

    Parameters
    ----------
    tau : float
        Part of the background's score that is subtracted.
    """

    tau: float = 0.5

    origin = "Acevedo et al., domain adaptation in audio-text models, Interspeech 2025"
    kind = Kind.ORACLE
    needs: ClassVar[str]

    def adapt(self, E: Float64, T: Float64, context: Context) -> Fitted:
        given: Any = getattr(context, self.needs)
        if given is None:
            raise InputError(
                f"{self.name} is an oracle and needs to know the background: "
                f"fit(E, T, Context({self.needs}=...)) with rows as wide as E ({E.shape[1]})"
            )
        rows, _ = as_rows(np.atleast_2d(given), self.needs, E.shape[1])
        background = unit_rows(rows).astype(np.float64)
        return linear_head(E, T.T, -self.tau * (background @ T.T).mean(axis=0))


@dataclass(frozen=True)
class ContextDAText(_ContextDA):
    """The background is named by prompts."""

    name = "contextda_text"
    needs = "background_text"


@dataclass(frozen=True)
class ContextDAAudio(_ContextDA):
    """The background is heard by itself."""

    name = "contextda_audio"
    needs = "background_audio"

"""PRISM itself, through its estimator: three presets, and the paper's with CAR.

Source: Shukla et al., "Prototype-Rectified Iterative Self-supervised Manifold Denoising under Severe
Acoustic Shift", CIKM 2026. Deviations: see the presets in ``model.estimator``. The arrays go
to the estimator as they come, so float32 is calibrated in float32, as a user would.
"""

from __future__ import annotations

from typing import Any, ClassVar

from prism_audio.methods.base import Context, Fitted, Kind, Method
from prism_audio.model.estimator import PRISM

PAPER = "Shukla et al., PRISM, CIKM 2026"


class Prism(Method):
    """The recommended preset, with its guard: a batch without enough evidence stays zero-shot.

    Parameters
    ----------
    **overrides
        Arguments of :class:`prism_audio.PRISM` that replace the preset's, for ablations.
    """

    name = "prism"
    origin = f"{PAPER}; preset default"
    kind = Kind.OURS
    preset: ClassVar[dict[str, Any]] = {"preset": "default"}

    def __init__(self, **overrides: Any) -> None:
        self.arguments = PRISM(**{**self.preset, **overrides}).get_params()

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        return tuple(PRISM().get_params())

    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        model = PRISM(**self.arguments).fit(E, prototypes=T)
        adapter = model.adapter_
        A, b = adapter.fold()
        return Fitted(model.labels_, adapter.dim, adapter.predict, A.size + b.size)


class PrismPaper(Prism):
    """Algorithm 1 as printed."""

    name = "prism_paper"
    origin = f"{PAPER}; Algorithm 1 as printed"
    preset: ClassVar[dict[str, Any]] = {"preset": "paper"}


class PrismReleased(Prism):
    """What the authors' public script does."""

    name = "prism_released"
    origin = f"{PAPER}; the authors' public script"
    preset: ClassVar[dict[str, Any]] = {"preset": "released"}


class PrismCAR(Prism):
    """Algorithm 1 with Confidence-Aware Regression."""

    name = "prism_car"
    origin = f"{PAPER}; Algorithm 1 with CAR, gamma = 10"
    preset: ClassVar[dict[str, Any]] = {"preset": "paper", "car": True}

"""Ablation and sensitivity: variants of PRISM that leave out, repeat or change one part.

Most variants are arguments of the estimator. Two claims of the paper need their own loop: that rotating
more than once in a round over-rotates, and that regressing from the previous round instead of from the
original embeddings drifts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from prism_audio.bench.experiment.experiment import Spec
from prism_audio.geometry.abr import abr, apply_map
from prism_audio.geometry.ccvd import ccvd
from prism_audio.geometry.opca import opca
from prism_audio.geometry.pct import pct
from prism_audio.geometry.sphere import assign, unit_rows
from prism_audio.io.types import Float
from prism_audio.methods import Context, Fitted, Kind, Method, make
from prism_audio.methods.base import ParameterMethod

ROUNDS = 3
PRINTED = "OPCA + CCVD + PCT + ABR (as printed)"


@dataclass(frozen=True)
class Variant(ParameterMethod):
    """Algorithm 1 as printed, with the rotation repeated or the regression started elsewhere."""

    turns: int = 1  # how often OPCA is applied in a round; the paper says once
    # Which rows ABR regresses from: the original ones in every round, as printed, or the result of
    # the round before.
    regress_from: Literal["origin", "previous"] = "origin"

    name = "variant"
    origin = "Algorithm 1 of the PRISM paper, changed on purpose"
    kind = Kind.OURS

    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        """Labels of the batch; a chain of maps has no compiled form for later clips."""
        start = unit_rows(np.asarray(E, np.float64))
        text = unit_rows(np.asarray(T, np.float64))
        current = start
        for _ in range(ROUNDS):
            source = start if self.regress_from == "origin" else current
            current = apply_map(source, abr(source, self._target(current, text)))
        return Fitted(assign(current, text)[0], start.shape[1])

    def _target(self, E: Float, T: Float) -> Float:
        for _ in range(self.turns):
            E = opca(E, T)
        return pct(ccvd(E, T), T)


def method_of(spec: Spec) -> Method:
    """The method of a spec: from the registry, or from this file."""
    if spec.name == Variant.name:
        return Variant(**spec.params)
    return make(spec.name, **spec.params)


def check_specs(specs: tuple[Spec, ...]) -> None:
    """Make every method once, so that a wrong name or parameter fails at the start."""
    for spec in specs:
        make(spec.name, **spec.params)


def _paper(label: str, **changes: Any) -> Spec:
    return Spec("prism_paper", changes, label)


_ALONE = {"deflation": "none", "pct": False, "abr": False}

ABLATION: tuple[Spec, ...] = (
    Spec("zero_shot"),
    _paper("OPCA alone, once", rounds=1, **_ALONE),
    _paper("OPCA alone, twice", rounds=2, **_ALONE),
    _paper("OPCA alone, three times", rounds=3, **_ALONE),
    _paper("OPCA + CCVD", pct=False, abr=False),
    _paper("OPCA + CCVD + PCT", abr=False),
    _paper(PRINTED),
    _paper("as printed, with CAR", car=True),
    _paper("as printed, without OPCA", opca=False),
    _paper("as printed, without CCVD", deflation="none"),
    _paper("as printed, without PCT", pct=False),
    Spec("variant", {"turns": 2}, "as printed, OPCA twice in a round"),
    Spec("variant", {"turns": 3}, "as printed, OPCA three times in a round"),
    Spec("variant", {"regress_from": "previous"}, "as printed, ABR from the previous round"),
    _paper("as printed, soft deflation instead of CCVD", deflation="soft"),
    _paper("as printed, ridge towards the identity", ridge_centre="identity"),
    Spec("prism", label="preset default"),
)

# For every parameter the values tried; the paper's own comes with the others.
SENSITIVITY: dict[str, tuple[float, ...]] = {
    "K": (10, 20, 30, 60, 100, 200),
    "alpha": (0.0, 0.1, 0.3, 0.5, 0.7, 1.0),
    "lam": (0.0001, 0.001, 0.01, 0.1, 1.0),
    "gamma": (0.0, 3.0, 10.0, 30.0, 100.0),
    "rounds": (1, 2, 3, 5, 8),
    "rho": (0.2, 0.7, 2.0, 6.0, 20.0),
}
# All are the paper's but rho, which it does not have.
USUAL = {"K": 60, "alpha": 0.3, "lam": 0.01, "gamma": 10.0, "rounds": 3, "rho": 2.0}
# What a parameter needs to have an effect.
_NEEDS: dict[str, dict[str, Any]] = {"gamma": {"car": True}, "rho": {"deflation": "soft"}}


def sensitivity_specs() -> list[tuple[str, float, Spec]]:
    """Parameter, value, and the method with it; all else as printed.

    A usual value is not passed on, so that its results are shared with the ablation.
    """
    return [
        (name, value, _paper(f"{name} = {value:g}", **_change(name, value), **_NEEDS.get(name, {})))
        for name, values in SENSITIVITY.items()
        for value in values
    ]


def _change(name: str, value: float) -> dict[str, float]:
    return {} if value == USUAL[name] else {name: value}

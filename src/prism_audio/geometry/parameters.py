"""Every constant of a calibration, with its range, and a switch for every component."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Parameters:
    """Every constant of Algorithm 1 and a switch for every component; the defaults are the paper's.

    Attributes
    ----------
    rounds : int
        R, how often the pass is repeated; 0 is plain zero-shot.
    p, q : float
        Fractions of confident rows that OPCA and the deflation learn from.
    K : int
        Directions that the hard deflation removes.
    alpha : float
        Part of the way to its prototype that PCT moves a class.
    lam : float
        lambda, the ridge of ABR.
    eps : float
        epsilon, the stability constant of OPCA's scale and of CCVD's Fisher ratio.
    gamma : float
        Sharpness of CAR.
    rho : float
        Floor of the soft deflation, in standard errors of the scatter within classes.
    prior_clips : float
        Clips a class at which the identity weighs as much as the class means where a rotation is
        found, and a composition doubts the class means wholly; 0 is the paper's.
    softness : float
        h, temperature of the soft assignments of the composition, in lengths of the scores centred
        over the classes; half as much again where they start.
    opca, pct, abr, car : bool
        Whether the component takes part. Without ABR the rounds hand on their targets and the matrix
        is compiled once, at the end.
    deflation : {"hard", "soft", "none"}
        CCVD as printed, the soft gain, or nothing.
    ridge_centre : {"zero", "identity"}
        What the ridge of ABR shrinks to.
    compilation : {"regression", "composition"}
        Whether every round ends in ABR, or composes the map of its parts. The composition has the
        soft deflation and a rotation; the gates and switches of the other components are not for it.
    guard : bool
        Whether a composed map is used only as far as the batch carries it.
    """

    rounds: int = 3
    p: float = 0.8
    q: float = 0.7
    K: int = 60
    alpha: float = 0.3
    lam: float = 0.01
    eps: float = 1e-4
    gamma: float = 10.0
    rho: float = 2.0
    prior_clips: float = 0.0
    softness: float = 0.08
    opca: bool = True
    deflation: Literal["hard", "soft", "none"] = "hard"
    pct: bool = True
    abr: bool = True
    car: bool = False
    ridge_centre: Literal["zero", "identity"] = "zero"
    compilation: Literal["regression", "composition"] = "regression"
    guard: bool = False

    def prior(self, C: int, N: float) -> float:
        """How far what ``N`` clips say of the means of ``C`` classes is doubted.

        The means of n clips a class, and with them H, are off by 1 / sqrt(n).
        """
        return float(np.sqrt(self.prior_clips * C / N))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def checked(self) -> Parameters:
        """Itself, or a ``ValueError`` that names the parameter to change."""
        for name, low, high in (
            ("rounds", 0, 1000),
            ("p", 0, 1),
            ("q", 0, 1),
            ("K", 0, np.inf),
            ("alpha", 0, 1),
            ("lam", 1e-12, np.inf),
            ("eps", 1e-12, np.inf),
            ("gamma", 0, np.inf),
            ("rho", 1e-12, np.inf),
            ("prior_clips", 0, np.inf),
            ("softness", 1e-3, np.inf),
        ):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not low <= value <= high:
                raise ValueError(f"{name}={value!r} is out of range; wanted {low:g} to {high:g}")
        for name in ("rounds", "K"):
            if int(getattr(self, name)) != getattr(self, name):
                raise ValueError(f"{name}={getattr(self, name)!r} must be a whole number")
        for name, allowed in (
            ("deflation", ("hard", "soft", "none")),
            ("ridge_centre", ("zero", "identity")),
            ("compilation", ("regression", "composition")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r}; wanted one of {allowed}")
        if self.guard and self.compilation != "composition":
            raise ValueError(
                "guard=True is of no use to a regression; set guard=False, or "
                "compilation='composition'"
            )
        if self.compilation == "composition":
            for name, only in (
                ("opca", True),
                ("deflation", "soft"),
                ("abr", True),
                ("car", False),
            ):
                if getattr(self, name) != only:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} is of no use to the composition; set "
                        "compilation='regression' and guard=False too"
                    )
        return self

"""Algorithm 1 of the paper: the loop that strings the operators together.

    E_cur <- E_n
    for r = 1 .. R:
        E'     <- OPCA(E_cur, T)              rotate onto the text
        E''    <- CCVD(E', T)                 deflate what varies within classes
        E_tgt  <- PCT(E'', T)                 move every class towards its prototype
        E_tgt  <- CAR(E_n, E_tgt, T)          optional
        W      <- ABR(E_n, E_tgt)             always from the original rows: no drift
        E_cur  <- normalize([E_n | 1] W)

The rows are only ever read, in passes (:mod:`prism_audio.geometry.source`): E_cur, E', E'' and E_tgt
are maps with a few numbers for each row (:mod:`prism_audio.geometry.rows`), never arrays.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from prism_audio.geometry import abr, car, ccvd, compose, opca, pct, soft
from prism_audio.geometry.guard import (
    NEGLIGIBLE,
    Verdict,
    coverage_weight,
    judge,
    reliability,
)
from prism_audio.geometry.products import Float, Float64, product
from prism_audio.geometry.rows import (
    Labelled,
    folded_labels,
    formed,
    mapped,
    original,
)
from prism_audio.geometry.source import InMemory, Source
from prism_audio.geometry.sphere import Labels, row_norms

UNGUARDED = Verdict("adapted", ("the guard is off",))

# A batch of at most this many numbers is calibrated in float64 whatever its type: it costs nothing,
# and few clips are where the eigenvalues at the cut of CCVD lie so close that rounding shows.
SMALL = 2**19


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
        Floor of the soft deflation, in units of the mean within-class variance.
    prior_clips : float
        Clips a class that the identity counts for where a rotation is found; 0 is the paper's.
    opca, pct, abr, car : bool
        Whether the component takes part. Without ABR the rounds hand on their targets and the matrix
        is compiled once, at the end.
    deflation : {"hard", "soft", "none"}
        CCVD as printed, the soft gain, or nothing.
    ridge_centre : {"zero", "identity"}
        What the ridge of ABR shrinks to.
    compilation : {"regression", "composition"}
        Whether the final map is ABR's, or composed of its parts from the labels of the last round.
    guard : bool
        Whether the map is shrunk to the identity as far as the batch cannot carry it.
    """

    rounds: int = 3
    p: float = 0.8
    q: float = 0.7
    K: int = 60
    alpha: float = 0.3
    lam: float = 0.01
    eps: float = 1e-4
    gamma: float = 10.0
    rho: float = 1.0
    prior_clips: float = 0.0
    opca: bool = True
    deflation: Literal["hard", "soft", "none"] = "hard"
    pct: bool = True
    abr: bool = True
    car: bool = False
    ridge_centre: Literal["zero", "identity"] = "zero"
    compilation: Literal["regression", "composition"] = "regression"
    guard: bool = False

    def prior(self, N: int, C: int) -> float:
        """How much the identity weighs against what ``N`` clips say of a rotation."""
        return self.prior_clips * C / N

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
        return self


@dataclass(frozen=True)
class Calibration:
    """What calibration leaves: the map, the labels of the batch, and what was seen on the way.

    Attributes
    ----------
    W : (d + 1, d) array
        The compiled map e -> normalize([e | 1] W).
    labels : (N,) array
        Class of every row of the batch after the last round.
    verdict : Verdict
        Whether the map is used whole, shrunk or not at all, and why.
    rounds : list of dict
        For every round what the operators saw: gates, valid classes, scale, deflated rank,
        residual and condition number of the regression.
    """

    W: Float64
    labels: Labels
    rounds: list[dict[str, Any]] = field(default_factory=list)
    verdict: Verdict = UNGUARDED


def calibrate(E: Float | Source, T: Float, params: Parameters | None = None) -> Calibration:
    """Learn the map of a place from unit rows ``E`` (N, d) and unit prototypes ``T`` (C, d).

    Both must be of one float type, finite and without zero rows; nothing is written into them.
    """
    params = params or Parameters()
    source: Source = InMemory(E) if isinstance(E, np.ndarray) else E
    N, d = source.shape
    if N * d <= SMALL:
        source, T = source.astype(np.float64), T.astype(np.float64)
    W = abr.identity_map(d)
    E_cur = original(source, T)
    if params.rounds == 0:
        return Calibration(W, E_cur.y)
    ridge = abr.factor_ridge(source, params.lam)
    W_0 = W if params.ridge_centre == "identity" else None
    rounds: list[dict[str, Any]] = []
    for r in range(1, params.rounds + 1):
        facts: dict[str, Any] = {"round": r}
        targets = correct(E_cur, T, params, facts)
        if params.abr:
            X, square = target_moments(targets, T, params)
            W = solve(ridge, X, W_0, square, facts)
            if r < params.rounds:
                E_cur = mapped(source, W, T)
        else:
            E_tgt = targets.formed()
            if params.car:
                E_tgt = car.car(formed(original(source, T).X), E_tgt, T, gamma=params.gamma)
            E_cur = original(InMemory(E_tgt), T)
            if r == params.rounds:
                X, square = abr.moments(source, E_tgt), float(np.sum(row_norms(E_tgt) ** 2))
                W = solve(ridge, X, W_0, square, facts)
        rounds.append(facts)
    # Labels do not see the last normalisation, so the compiled map gives them without E_cur.
    labels = folded_labels(source, fold(W, T)) if params.abr else E_cur.y
    if params.compilation == "composition":
        W = compose.compose(
            source,
            ridge.G[:d, :d],
            T,
            labels,
            rho=params.rho,
            eps=params.eps,
            prior=params.prior(N, len(T)),
        )
        labels = folded_labels(source, fold(W, T))
    verdict = UNGUARDED
    if params.guard:
        borne_out = None
        if coverage_weight(labels, len(T)) >= NEGLIGIBLE:
            borne_out = reliability(source, T, *half_maps(source, T, params))
        verdict = judge(labels, len(T), borne_out)
        W = compose.towards_identity(W, verdict.numbers["weight"])
        labels = folded_labels(source, fold(W, T))
    return Calibration(W, labels, rounds, verdict)


def half_maps(source: Source, T: Float, params: Parameters) -> list[Float64]:
    """The maps that two halves of a batch give, each in one round; none of fewer than four clips.

    Every other clip by confidence: the halves are alike, whatever the order of rows and classes, and
    a clip that came twice is in one of them, else it would bear itself out.
    """
    rows = original(source, T)
    clips, rank = np.unique(rows.kappa.astype(np.float32), return_inverse=True)
    if len(clips) < 4:
        return []
    once = replace(params, rounds=min(params.rounds, 1), guard=False)
    return [calibrate(source.only(rank % 2 == half), T, once).W for half in (0, 1)]


def fold(W: Float64, T: Float) -> Float64:
    """W T^T (d + 1, C): the scores of a map, all that its labels need."""
    return np.asarray(product(W, T.T.astype(np.float64)))


def correct(E_cur: Labelled, T: Float, params: Parameters, facts: dict[str, Any]) -> pct.Targets:
    """One pass of the geometric corrections; ``facts`` takes what was seen."""
    rows = E_cur
    if params.opca:
        prior = params.prior(len(rows.y), len(T))
        alignment = opca.find_alignment(rows, T, params.p, params.eps, prior)
        if alignment is None:
            facts["valid_classes"] = 1
        else:
            facts["valid_classes"] = alignment.valid_classes
            facts["scale"] = alignment.s
            facts["opca_gate"], facts["opca_kept"] = alignment.tau, alignment.kept
            rows = opca.align(rows.X, alignment, T)
    if params.deflation != "none":
        scatter = ccvd.find_scatter(rows, len(T), params.q)
        facts["ccvd_gate"], facts["ccvd_kept"] = scatter.tau, scatter.kept
        if params.deflation == "hard":
            V_K = ccvd.noise_subspace(scatter, params.K, params.eps, rows.kappa.dtype)
            facts["deflated_rank"] = V_K.shape[1]
            rows = ccvd.deflate(rows.X, V_K, T)
        else:
            gain = soft.soft_gain(scatter.S_W.astype(rows.kappa.dtype), params.rho)
            facts["deflated_rank"] = len(gain) - float(np.trace(gain))
            rows = soft.weigh(rows.X, gain, T)
    return pct.translate(rows, T, params.alpha) if params.pct else pct.untranslated(rows, len(T))


def target_moments(targets: pct.Targets, T: Float, params: Parameters) -> tuple[Float64, float]:
    """E~^T E_tgt and |E_tgt|^2, with CAR where it takes part."""
    if params.car:
        return car.blended_moments(targets, T, params.gamma)
    return targets.moments(), float(len(targets.y))


def solve(
    ridge: abr.Ridge, X: Float64, W_0: Float64 | None, square: float, facts: dict[str, Any]
) -> Float64:
    """The regression of a round; ``facts`` takes how well it fits."""
    W = abr.solve_ridge(ridge, X, W_0)
    facts["residual"] = abr.residual(ridge, X, W, W_0, square) / ridge.G[-1, -1]
    facts["condition"] = ridge.condition
    return W

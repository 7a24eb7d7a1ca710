"""Algorithm 1 of the paper: the loop that strings the operators together.

    E_cur <- E_n
    for r = 1 .. R:
        E'     <- OPCA(E_cur, T)              rotate onto the text
        E''    <- CCVD(E', T)                 deflate what varies within classes
        E_tgt  <- PCT(E'', T)                 move every class towards its prototype
        E_tgt  <- CAR(E_n, E_tgt, T)          optional
        W      <- ABR(E_n, E_tgt)             always from the original rows: no drift
        E_cur  <- normalize([E_n | 1] W)

That is :func:`regressed`. The preset ``default`` composes its map instead; how is in
:mod:`prism_audio.geometry.graded`.

The rows are only ever read, in passes (:mod:`prism_audio.geometry.source`): E_cur, E', E'' and E_tgt
are maps with a few numbers for each row (:mod:`prism_audio.geometry.rows`), never arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from prism_audio.geometry import abr, car, ccvd, opca, pct, soft
from prism_audio.geometry.graded import graded
from prism_audio.geometry.guard import Verdict
from prism_audio.geometry.labelled import use_labels
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.products import Float, Float64, product
from prism_audio.geometry.rows import (
    Labelled,
    folded_labels,
    formed,
    mapped,
    original,
)
from prism_audio.geometry.source import InMemory, RowSource
from prism_audio.geometry.sphere import Labels, row_norms
from prism_audio.geometry.threads import bounded_threads

UNGUARDED = Verdict("adapted", ("the guard is off",))

# A batch of at most this many numbers is calibrated in float64 whatever its type: it costs nothing,
# and few clips are where the eigenvalues at the cut of CCVD lie so close that rounding shows.
SMALL = 2**19


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


class Found(NamedTuple):
    """What the rounds leave: the map, the labels it gives, and what was seen on the way."""

    W: Float64
    labels: Labels
    rounds: list[dict[str, Any]]


@bounded_threads()
def calibrate(
    E: Float | RowSource, T: Float, params: Parameters | None = None, y: Labels | None = None
) -> Calibration:
    """Learn the map of a place from unit rows ``E`` (N, d) and unit prototypes ``T`` (C, d).

    Both must be of one float type, finite and without zero rows; nothing is written into them.
    ``y`` (N,) holds the classes of rows that are labelled, and -1 elsewhere; a composition uses them
    (:mod:`prism_audio.geometry.labelled`).
    """
    params = params or Parameters()
    source: RowSource = InMemory(E) if isinstance(E, np.ndarray) else E
    N, d = source.shape
    if N * d <= SMALL:
        source, T = source.astype(np.float64), T.astype(np.float64)
    if params.rounds == 0:
        return Calibration(abr.identity_map(d), original(source, T).y)
    G = abr.second_moments(source)
    if params.compilation == "composition":
        result = graded(source, T, G, params)
        W, verdict = result.W, result.verdict
        if y is not None:
            W, verdict = use_labels(source, T, G, result, y, params)
        return Calibration(W, folded_labels(source, fold(W, T)), result.rounds, verdict)
    return Calibration(*regressed(source, T, G, params))


def regressed(source: RowSource, T: Float, G: Float64, params: Parameters) -> Found:
    """The rounds of Algorithm 1."""
    ridge = abr.factor_ridge(G, params.lam)
    W = abr.identity_map(source.shape[1])
    W_0 = W if params.ridge_centre == "identity" else None
    E_cur = original(source, T)
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
    return Found(W, folded_labels(source, fold(W, T)) if params.abr else E_cur.y, rounds)


def fold(W: Float64, T: Float) -> Float64:
    """W T^T (d + 1, C): the scores of a map, all that its labels need."""
    return np.asarray(product(W, T.T.astype(np.float64)))


def correct(E_cur: Labelled, T: Float, params: Parameters, facts: dict[str, Any]) -> pct.Targets:
    """One pass of the geometric corrections; ``facts`` takes what was seen."""
    rows = E_cur
    if params.opca:
        prior = params.prior(len(T), len(rows.y))
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
            S_W = scatter.S_W.astype(rows.kappa.dtype)
            gain = soft.soft_gain(S_W, scatter.rank_bound, params.rho)
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

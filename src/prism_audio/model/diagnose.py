"""What a place does to embeddings.

With clean and noisy versions of the same clips (the paper's test of its Affine Noise Hypothesis)

    D = E_noisy - E_clean = U diag(sigma) V^T,     energy(k) = sum_(i<=k) sigma_i^2 / sum_i sigma_i^2

and the rank that holds 90 % of the energy. A low rank alone proves little, because embeddings
themselves lie in few directions: the rank of the clean clips stands beside it, and how much of the
noise an affine map predicts on clips that it was not fitted to. Without pairs the shift itself
cannot be known; what can be is how the rows scatter within their predicted classes, and whether
a calibration on one half of them holds on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from prism_audio.errors import InputError
from prism_audio.geometry.abr import abr, identity_map
from prism_audio.geometry.ccvd import find_scatter
from prism_audio.geometry.guard import Verdict
from prism_audio.geometry.rows import original
from prism_audio.geometry.source import InMemory
from prism_audio.geometry.sphere import assign, row_norms, unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float, Float64
from prism_audio.model.vocabulary import Vocabulary

ENERGY = 0.9


@dataclass(frozen=True)
class Shift:
    """The shift between pairs of clips."""

    # Number of pairs and width of the space.
    pairs: int
    d: int
    energy: Float64  # (min(N, d),): cumulative energy of the singular values of the shift
    clean_energy: Float64  # the same of the clean clips about their mean, for comparison
    size: float  # root mean square of |e_noisy - e_clean|; two unrelated directions are 1.41 apart
    translation: float  # part of the energy in the mean shift, which is the same for all clips
    # Part of the energy that an affine map of the clean clips predicts on clips it was not fitted
    # to; None with fewer than four pairs.
    affine: float | None

    @property
    def rank(self) -> int:
        """Directions that hold 90 % of the energy of the shift."""
        return rank_of(self.energy)

    @property
    def clean_rank(self) -> int:
        """Directions that hold 90 % of the energy of the clean clips about their mean."""
        return rank_of(self.clean_energy)


def shift_of(clean: Any, noisy: Any) -> Shift:
    """The shift from ``clean`` (N, d) to ``noisy`` (N, d), row by row."""
    E_c = unit_rows(as_rows(clean, "clean")[0].astype(np.float64))
    E_n = unit_rows(as_rows(noisy, "noisy", E_c.shape[1])[0].astype(np.float64))
    if len(E_c) != len(E_n):
        raise InputError(f"{len(E_c)} clean rows and {len(E_n)} noisy ones; wanted pairs")
    D = E_n - E_c
    total = float(np.vdot(D, D))
    if total <= 1e-12 * len(D):
        raise InputError("clean and noisy are the same; there is no shift to look at")
    N, d = D.shape
    mean = D.mean(axis=0)
    return Shift(
        N,
        d,
        cumulative_energy(D),
        cumulative_energy(E_c - E_c.mean(axis=0)),
        float(np.sqrt(total / N)),
        float(N * (mean @ mean) / total),
        _explained(E_c, E_n) if N >= 4 else None,
    )


def cumulative_energy(D: Float) -> Float64:
    """sum_(i<=k) sigma_i^2 / sum_i sigma_i^2 for k = 1 .. min(N, d)."""
    square = linalg.svdvals(D, check_finite=False) ** 2
    return np.asarray(np.cumsum(square) / max(square.sum(), np.finfo(float).tiny))


def rank_of(energy: Float64) -> int:
    """The least k whose cumulative energy reaches :data:`ENERGY`."""
    return min(int(np.searchsorted(energy, ENERGY - 1e-12)) + 1, len(energy))


def _explained(clean: Float, noisy: Float) -> float:
    """Part of |noisy - clean|^2 that an affine map of ``clean`` predicts, half from half."""
    fold = np.random.default_rng(0).permutation(len(clean)) % 2
    left = 0.0
    for half in (0, 1):
        seen, unseen = fold == half, fold != half
        # The ridge weighs as much as one clip in a hundred; towards the identity: no shift.
        W = abr(clean[seen], noisy[seen], lam=0.01 * seen.sum(), W_0=identity_map(clean.shape[1]))
        rest = noisy[unseen] - clean[unseen] @ W[:-1] - W[-1]
        left += float(np.vdot(rest, rest))
    return 1 - left / float(np.sum((noisy - clean) ** 2))


@dataclass(frozen=True)
class Look:
    """What noisy rows alone tell."""

    # Rows, width, and classes that zero-shot finds among them.
    rows: int
    d: int
    classes: int
    # Length of the mean row: 1 if all point the same way, 0 if they balance out.
    concentration: float
    # Means of the best cosine, and of its distance to the second best.
    confidence: float
    margin: float
    # Directions that hold 90 % of the scatter within predicted classes, and its effective rank (the
    # exponential of the entropy of its spectrum).
    within_rank: int
    within_effective: float
    # How often a calibration on half of the rows agrees with zero-shot on that half, and on the
    # half it did not see; None where a half is too small to calibrate on.
    own: float | None
    other: float | None
    verdict: Verdict  # of a calibration on all rows

    @property
    def holds(self) -> float | None:
        """Agreement on unseen rows over agreement on seen ones: near 1 where the map generalises."""
        return self.other / self.own if self.own and self.other is not None else None


def look_at(noisy: Any, words: Vocabulary, preset: str = "default") -> Look:
    """What rows (N, d) tell without clean versions of them."""
    from prism_audio.model.estimator import PRISM

    rows = unit_rows(as_rows(noisy, "noisy")[0].astype(np.float64))
    rows = rows[row_norms(rows) > 0]
    if len(rows) < 2:
        raise InputError(
            f"{len(rows)} clips with sound in them; a look at a place takes two or more"
        )
    T = unit_rows(as_rows(words.prototypes, "prototypes", rows.shape[1])[0].astype(np.float64))
    y, kappa = assign(rows, T)
    ranked = np.sort(rows @ T.T, axis=1)
    spectrum = np.maximum(
        linalg.eigvalsh(find_scatter(original(InMemory(rows), T), len(T), 1.0).S_W)[::-1], 0
    )
    share = spectrum / max(spectrum.sum(), np.finfo(float).tiny)
    seen = share[share > 0]
    verdict = PRISM(preset=preset).fit(rows, prototypes=T).verdict_
    own, other = _halves(rows, T, preset)
    return Look(
        len(rows),
        rows.shape[1],
        len(np.unique(y)),
        float(np.linalg.norm(rows.mean(axis=0))),
        float(kappa.mean()),
        float((ranked[:, -1] - ranked[:, -2]).mean()) if len(T) > 1 else float("nan"),
        rank_of(np.cumsum(share)),
        float(np.exp(-np.sum(seen * np.log(seen)))),
        own,
        other,
        verdict,
    )


def _halves(rows: Float, T: Float, preset: str) -> tuple[float | None, float | None]:
    from prism_audio.model.estimator import PRISM

    plain = assign(rows, T)[0]
    fold = np.random.default_rng(0).permutation(len(rows)) % 2
    own, other = [], []
    for half in (0, 1):
        model = PRISM(preset=preset).fit(rows[fold == half], prototypes=T)
        if model.verdict_ == "zero-shot":
            return None, None
        agree = model.predict(rows) == plain
        own.append(agree[fold == half].mean())
        other.append(agree[fold != half].mean())
    return float(np.mean(own)), float(np.mean(other))


def pair_rows(clean: Sequence[str], noisy: Sequence[str]) -> tuple[list[int], list[int]]:
    """Rows of two lists that have the same name, in the order of the first list."""
    where = {name: i for i, name in enumerate(noisy)}
    pairs = [(i, where[name]) for i, name in enumerate(clean) if name in where]
    if not pairs:
        raise InputError(
            f"no clip has a clean and a noisy version: {clean[0]!r} and {noisy[0]!r} stand first; "
            "name the two versions of a clip alike"
        )
    return [i for i, _ in pairs], [j for _, j in pairs]

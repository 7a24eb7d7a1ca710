"""What the authors' public script computes, number for number. For comparison only.

It differs from the paper's Algorithm 1 in four ways, all kept here as they are:

1. From round 2 on the prototypes are P = normalize((1 - beta) T + beta A), beta = 0, .5, 1, ..., where
   A_c is the mean of the current rows of class c.
2. The rotation is U V^T of a full SVD, completed as the SVD routine likes; a class with members of
   which none is confident takes part with the mean of all of them.
3. The eigenvectors of the non-symmetric (S_B + 1e-4 I)^-1 S_W come from a *symmetric* solver, which
   reads its lower triangle only; classes with fewer than two confident members are left out.
4. The ridge is solved anew in every round.

All in float32, and in the order of operations of the script: the null space of H, and with it the
completion of the rotation, hangs on the last bit of every number before it. Its labels depend on the
linear algebra library by some percent; the preset ``paper`` has no such freedom.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism_audio.geometry.calibrate import Calibration
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.products import Float
from prism_audio.geometry.sphere import Labels, Mask

BETA = (0.0, 0.5, 1.0)
SCALE_EPS = np.float32(1e-8)
FISHER_EPS = np.float32(1e-4)


def normalise(X: Float) -> Float:
    """Unit rows by the norm routine of NumPy, whose rounding differs from that of ``sphere``."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.maximum(norms, np.float32(1e-12)))


def pseudo_labels(E: Float, P: Float, keep: float) -> tuple[Labels, Float, Mask, float]:
    """Labels, confidences, the confident set and its threshold, from one product."""
    L = E @ P.T
    kappa = L.max(axis=1)
    tau = np.quantile(kappa, 1 - keep)
    return L.argmax(axis=1), kappa, kappa >= tau, float(tau)


def scheduled_prototypes(E: Float, T: Float, P: Float, beta: float, p: float) -> Float:
    """normalize((1 - beta) T + beta A), A from the labels under the previous prototypes ``P``."""
    y, _, confident, _ = pseudo_labels(E, P, p)
    A = T.copy()
    for c in np.unique(y):
        sure = (y == c) & confident
        A[c] = E[sure if sure.any() else y == c].mean(axis=0)
    b = np.float32(beta)
    return normalise((1 - b) * T + b * A)


def rotate(E: Float, P: Float, p: float, facts: dict[str, Any]) -> Float:
    """OPCA with a full SVD."""
    y, kappa, confident, facts["opca_gate"] = pseudo_labels(E, P, p)
    facts["opca_kept"] = int(confident.sum())
    seen = np.unique(y)
    facts["valid_classes"] = len(seen)
    if len(seen) < 2:
        return E
    M_n = np.empty((len(seen), E.shape[1]), dtype=E.dtype)
    for row, c in enumerate(seen):
        sure = (y == c) & confident
        if sure.any():
            w = kappa[sure] / kappa[sure].sum()
            M_n[row] = (E[sure] * w[:, None]).sum(axis=0)
        else:
            M_n[row] = E[y == c].mean(axis=0)
    M_t = P[seen]
    mu_n, mu_t = M_n.mean(axis=0), M_t.mean(axis=0)
    U, _, Vt = np.linalg.svd((M_n - mu_n).T @ (M_t - mu_t))
    ratio = np.linalg.norm(M_t - mu_t) / (np.linalg.norm(M_n - mu_n) + SCALE_EPS)
    s = np.clip(ratio, np.float32(0.8), np.float32(1.2))
    facts["scale"] = float(s)
    return normalise(s * ((E - mu_n) @ (U @ Vt)) + mu_t)


def deflate(E: Float, P: Float, K: int, q: float, facts: dict[str, Any]) -> Float:
    """CCVD with a symmetric solver on a matrix that is not."""
    y, _, confident, facts["ccvd_gate"] = pseudo_labels(E, P, q)
    facts["ccvd_kept"] = int(confident.sum())
    F, l_F = E[confident], y[confident]
    d = E.shape[1]
    if len(np.unique(l_F)) < 2:
        return E
    mu = F.mean(axis=0)
    S_W = np.zeros((d, d), dtype=E.dtype)
    S_B = np.zeros((d, d), dtype=E.dtype)
    for c in np.unique(l_F):
        rows = F[l_F == c]
        if len(rows) < 2:
            continue
        mu_c = rows.mean(axis=0)
        S_W += (rows - mu_c).T @ (rows - mu_c)
        S_B += len(rows) * np.outer(mu_c - mu, mu_c - mu)
    identity = np.eye(d, dtype=E.dtype)
    _, vectors = np.linalg.eigh(np.linalg.solve(S_B + FISHER_EPS * identity, S_W), UPLO="L")
    V = vectors[:, -min(K, d) :]
    facts["deflated_rank"] = V.shape[1]
    return normalise(E @ (identity - V @ V.T))


def translate(E: Float, P: Float, alpha: float) -> Float:
    """PCT against the scheduled prototypes."""
    y = (E @ P.T).argmax(axis=1)
    out = E.copy()
    for c in np.unique(y):
        out[y == c] += np.float32(alpha) * (P[c] - E[y == c].mean(axis=0))
    return normalise(out)


def calibrate_released(E: Float, T: Float, params: Parameters | None = None) -> Calibration:
    """The released script on unit rows ``E`` (N, d) and ``T`` (C, d), computed in float32.

    Of ``params`` it knows ``rounds``, ``p``, ``q``, ``K``, ``alpha`` and ``lam``.
    """
    params = params or Parameters()
    E, T = E.astype(np.float32), T.astype(np.float32)
    N, d = E.shape
    E_aug = np.hstack([E, np.ones((N, 1), dtype=np.float32)])
    W = np.eye(d + 1, d, dtype=np.float32)
    E_cur, P = E, T
    rounds: list[dict[str, Any]] = []
    for r in range(params.rounds):
        facts: dict[str, Any] = {"round": r + 1, "beta": BETA[min(r, len(BETA) - 1)]}
        if r > 0:
            P = scheduled_prototypes(E_cur, T, P, facts["beta"], params.p)
        E_tgt = rotate(E_cur, P, params.p, facts)
        E_tgt = deflate(E_tgt, P, params.K, params.q, facts)
        E_tgt = translate(E_tgt, P, params.alpha)
        A = E_aug.T @ E_aug + np.float32(params.lam) * np.eye(d + 1, dtype=np.float32)
        W = np.linalg.solve(A, E_aug.T @ E_tgt)
        fitted = E_aug @ W
        facts["residual"] = float(np.mean(np.sum((fitted - E_tgt) ** 2, axis=1)))
        E_cur = normalise(fitted)
        rounds.append(facts)
    L = E_cur @ T.T
    return Calibration(W.astype(np.float64), L.argmax(axis=1), rounds)

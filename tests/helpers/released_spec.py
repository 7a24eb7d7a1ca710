"""The released script as specified, in plain float32 NumPy, written as a script would be.

An independent transcription: it shares no code with the package. It is the reference of the tests of
the preset ``released`` and the baseline of ``benchmarks/calibration.py``.
"""

from __future__ import annotations

import numpy as np

f32 = np.float32


def unit(X):
    n = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(n == 0, f32(1), n)


def released(E_n, T, R=3, p=0.8, K=60, q=0.7, alpha=0.3, lam=0.01):
    """W (d + 1, d) and the final embeddings (N, d), from unit rows."""
    E_n, T = np.asarray(E_n, dtype=f32), np.asarray(T, dtype=f32)
    (N, d), C = E_n.shape, len(T)
    E_aug = np.concatenate([E_n, np.ones((N, 1), f32)], axis=1)
    E_cur, P = E_n, T
    W = np.concatenate([np.eye(d, dtype=f32), np.zeros((1, d), f32)])
    for r in range(R):
        if r > 0:
            beta = f32([0.0, 0.5, 1.0][min(r, 2)])
            L = E_cur @ P.T
            y, kappa = L.argmax(1), L.max(1)
            sure = kappa >= np.quantile(kappa, 1 - p)
            A = T.copy()
            for c in range(C):
                if (sure & (y == c)).sum() > 0:
                    A[c] = E_cur[sure & (y == c)].mean(0)
                elif (y == c).sum() > 0:
                    A[c] = E_cur[y == c].mean(0)
            P = unit((1 - beta) * T + beta * A)

        # OPCA
        L = E_cur @ P.T
        y, kappa = L.argmax(1), L.max(1)
        sure = kappa >= np.quantile(kappa, 1 - p)
        M_n, M_t = [], []
        for c in range(C):
            if (sure & (y == c)).sum() > 0:
                w = kappa[sure & (y == c)]
                M_n.append((E_cur[sure & (y == c)] * (w / w.sum())[:, None]).sum(0))
                M_t.append(P[c])
            elif (y == c).sum() > 0:
                M_n.append(E_cur[y == c].mean(0))
                M_t.append(P[c])
        E1 = E_cur
        if len(M_n) >= 2:
            M_n, M_t = np.array(M_n), np.array(M_t)
            mu_n, mu_t = M_n.mean(0), M_t.mean(0)
            U, _, Vt = np.linalg.svd((M_n - mu_n).T @ (M_t - mu_t))
            s = np.linalg.norm(M_t - mu_t) / (np.linalg.norm(M_n - mu_n) + f32(1e-8))
            s = min(max(s, f32(0.8)), f32(1.2))
            E1 = unit(s * ((E_cur - mu_n) @ (U @ Vt)) + mu_t)

        # CCVD
        L = E1 @ P.T
        y, kappa = L.argmax(1), L.max(1)
        F = kappa >= np.quantile(kappa, 1 - q)
        E_F, l_F = E1[F], y[F]
        mu = E_F.mean(0)
        S_W, S_B = np.zeros((d, d), f32), np.zeros((d, d), f32)
        for c in range(C):
            X = E_F[l_F == c]
            if len(X) < 2:
                continue
            mu_c = X.mean(0)
            S_W += (X - mu_c).T @ (X - mu_c)
            S_B += len(X) * np.outer(mu_c - mu, mu_c - mu)
        E2 = E1
        if len(set(l_F)) >= 2:
            ratio = np.linalg.solve(S_B + f32(1e-4) * np.eye(d, dtype=f32), S_W)
            _, vectors = np.linalg.eigh(ratio)
            V = vectors[:, -K:]
            E2 = unit(E1 @ (np.eye(d, dtype=f32) - V @ V.T))

        # PCT
        y = (E2 @ P.T).argmax(1)
        E3 = E2.copy()
        for c in range(C):
            if (y == c).sum() > 0:
                E3[y == c] = E2[y == c] + f32(alpha) * (P[c] - E2[y == c].mean(0))
        E3 = unit(E3)

        # ABR
        A = E_aug.T @ E_aug + f32(lam) * np.eye(d + 1, dtype=f32)
        W = np.linalg.solve(A, E_aug.T @ E3)
        E_cur = unit(E_aug @ W)
    return W, E_cur

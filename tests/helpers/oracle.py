"""The paper's equations in float64, as literally as they can be written. Shares no code with geometry/.

Slow on purpose: loops over classes and rows, full d x d factorisations, general eigensolver.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg


def unit(X):
    X = np.array(X, dtype=np.float64)
    for i in range(len(X)):
        n = np.sqrt(np.sum(X[i] ** 2))
        if n > 0:
            X[i] = X[i] / n
    return X


def pseudo(E, T):
    L = E @ T.T
    return np.argmax(L, axis=1), np.max(L, axis=1)


def top_fraction(kappa, fraction):
    """Rows at or above the linearly interpolated (1 - fraction) quantile, from sorted values."""
    x = np.sort(kappa)
    position = (len(x) - 1) * (1 - fraction)
    low = int(np.floor(position + 1e-9))
    high = min(low + 1, len(x) - 1)
    tau = x[low] + (position - low) * (x[high] - x[low]) if position > low else x[low]
    return kappa >= tau - 1e-15


def opca_rotation(A, B):
    """U V^T of the full SVD, the free part replaced by the completion of the largest trace."""
    H = A.T @ B
    U, sigma, Vt = np.linalg.svd(H)
    V = Vt.T
    rank = int(np.sum(sigma > 1e-10 * sigma[0]))
    U1, U2, V1, V2 = U[:, :rank], U[:, rank:], V[:, :rank], V[:, rank:]
    if U2.shape[1] == 0:
        return U1 @ V1.T
    Q, _ = scipy.linalg.polar(U2.T @ V2)
    return U1 @ V1.T + U2 @ Q @ V2.T


def opca(E, T, p=0.8, eps=1e-4):
    y, kappa = pseudo(E, T)
    C = top_fraction(kappa, p)
    M_n, M_t = [], []
    for c in range(len(T)):
        idx = [i for i in range(len(E)) if C[i] and y[i] == c]
        if idx:
            total = sum(kappa[i] for i in idx)
            M_n.append(sum(kappa[i] / total * E[i] for i in idx))
            M_t.append(T[c])
    M_n, M_t = np.array(M_n), np.array(M_t)
    if len(M_n) < 2:
        return E.copy()
    mu_n, mu_t = M_n.mean(0), M_t.mean(0)
    R = opca_rotation(M_n - mu_n, M_t - mu_t)
    s = np.sqrt(np.sum((M_t - mu_t) ** 2)) / (np.sqrt(np.sum((M_n - mu_n) ** 2)) + eps)
    s = min(max(s, 0.8), 1.2)
    return unit(s * (E - mu_n) @ R + mu_t)


def scatters(E, labels, C):
    d = E.shape[1]
    mu = E.mean(0)
    S_W, S_B = np.zeros((d, d)), np.zeros((d, d))
    for c in range(C):
        rows = E[labels == c]
        if len(rows) == 0:
            continue
        mu_c = rows.mean(0)
        for e in rows:
            S_W += np.outer(e - mu_c, e - mu_c)
        S_B += len(rows) * np.outer(mu_c - mu, mu_c - mu)
    return S_W, S_B


def ccvd(E, T, K=60, q=0.7, eps=1e-4):
    y, kappa = pseudo(E, T)
    F = top_fraction(kappa, q)
    C_F = len(set(y[F]))
    S_W, S_B = scatters(E[F], y[F], len(T))
    d = E.shape[1]
    K = min(K, int(F.sum()) - C_F, d - C_F)
    if K <= 0:
        return E.copy()
    # The general, non-symmetric eigenproblem of F itself.
    values, vectors = np.linalg.eig(np.linalg.inv(S_B + eps * np.eye(d)) @ S_W)
    order = np.argsort(-values.real)[:K]
    # "Never more directions than S_W has rank": not below 1e-5 of the largest, nor below 1e-7 a row.
    floor = max(1e-5 * values.real[order[0]], 1e-7 * F.sum() / eps)
    order = order[values.real[order] > floor]
    V = scipy.linalg.orth(vectors[:, order].real)
    return unit(E @ (np.eye(d) - V @ V.T))


def pct(E, T, alpha=0.3):
    y, _ = pseudo(E, T)
    out = E.copy()
    for i in range(len(E)):
        mu = E[y == y[i]].mean(0)
        out[i] = E[i] + alpha * (T[y[i]] - mu)
    return unit(out)


def car(E_noisy, E_tgt, T, gamma=10.0):
    y, kappa = pseudo(E_tgt, T)
    mean = {c: np.mean(kappa[y == c]) for c in set(y.tolist())}
    m = np.median(list(mean.values()))
    out = np.empty_like(E_tgt)
    for i in range(len(E_tgt)):
        w = 1 / (1 + np.exp(-gamma * (m - mean[int(y[i])])))
        out[i] = w * E_noisy[i] + (1 - w) * E_tgt[i]
    return out


def abr(E, E_tgt, lam=0.01):
    A = np.hstack([E, np.ones((len(E), 1))])
    return np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1])) @ A.T @ E_tgt


def apply(E, W):
    return unit(np.hstack([E, np.ones((len(E), 1))]) @ W)


def prism(E_n, T, R=3, p=0.8, K=60, q=0.7, alpha=0.3, lam=0.01, eps=1e-4, car_on=False, gamma=10.0):
    """Algorithm 1; returns W and the final embeddings."""
    E_n, T = unit(E_n), unit(T)
    E_cur = E_n.copy()
    W = np.vstack([np.eye(E_n.shape[1]), np.zeros((1, E_n.shape[1]))])
    for _ in range(R):
        E_tgt = pct(ccvd(opca(E_cur, T, p, eps), T, K, q, eps), T, alpha)
        if car_on:
            E_tgt = car(E_n, E_tgt, T, gamma)
        W = abr(E_n, E_tgt, lam)
        E_cur = apply(E_n, W)
    return W, E_cur

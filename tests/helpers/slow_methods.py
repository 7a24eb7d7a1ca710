"""Every method written out a second time, as literally and slowly as its equations. No shared code.

Loops over clips, classes and coordinates; dense inverses; general solvers. Each function takes unit
rows E, prototypes T and the method's numbers, and returns the labels of E. Where a batch is more than
its clips, ``unseen`` asks for the labels of other rows, given what E has taught.
"""

from __future__ import annotations

import math

import numpy as np


def unit(x):
    n = math.sqrt(float(np.sum(np.asarray(x) ** 2)))
    return np.asarray(x) / n if n > 0 else np.asarray(x)


def softmax(row):
    e = [math.exp(v - max(row)) for v in row]
    return np.array([v / sum(e) for v in e])


def nats(p):
    """Entropy divided by its maximum."""
    return -sum(v * math.log(v) for v in p if v > 0) / math.log(len(p))


def first_max(row):
    return max(range(len(row)), key=lambda c: (row[c], -c))


def zero_shot(E, T):
    return [first_max([float(e @ t) for t in T]) for e in E]


def mean_shift(E, T):
    a, t = sum(E) / len(E), sum(T) / len(T)
    return zero_shot([e - a + t for e in E], T)


def audio_prototypes(E, T, n=35):
    n = max(1, min(n, len(E) // len(T)))
    prototypes = []
    for t in T:
        order = sorted(range(len(E)), key=lambda i: -float(E[i] @ t))[:n]
        prototypes.append(unit(sum(E[i] for i in order) / len(order)))
    return zero_shot(E, prototypes)


def contextda(E, T, background, tau=0.5):
    labels = []
    for e in E:
        scores = []
        for t in T:
            b = sum(float(k @ t) for k in background) / len(background)
            scores.append(float(e @ t) - tau * b)
        labels.append(first_max(scores))
    return labels


def sinkhorn(E, T, s=100.0, iterations=300):
    """Alternate scaling of the rows and columns of a positive matrix."""
    K = np.array([[math.exp(s * float(e @ t)) for t in T] for e in E])
    N, C = K.shape
    for _ in range(iterations):
        for i in range(N):
            K[i] /= K[i].sum()
        for c in range(C):
            K[:, c] *= (N / C) / K[:, c].sum()
    return [first_max(K[i]) for i in range(N)]


def tda(E, T, s=100.0, unseen=None):
    positive = {c: [] for c in range(len(T))}
    negative = {c: [] for c in range(len(T))}

    def keep(cache, item, places):
        if len(cache) < places:
            cache.append(item)
        elif item[0] < max(h for h, _, _ in cache):
            cache.remove(max(cache, key=lambda other: other[0]))
            cache.append(item)

    def score(e):
        out = np.array([s * float(e @ t) for t in T])
        for items in positive.values():
            for _, k, label in items:
                out[label] += 2.0 * math.exp(-5.0 * (1 - float(e @ k)))
        for items in negative.values():
            for _, k, mask in items:
                for j in range(len(T)):
                    out[j] -= 0.117 * math.exp(-1.0 * (1 - float(e @ k))) * mask[j]
        return out

    labels = []
    for e in E:
        p = softmax([s * float(e @ t) for t in T])
        h, c = nats(p), first_max(p)
        keep(positive[c], (h, e, c), 3)
        if 0.2 < h < 0.5:
            keep(negative[c], (h, e, [1.0 if 0.03 < v < 1 else 0.0 for v in p]), 2)
        labels.append(first_max(score(e)))
    return labels if unseen is None else [first_max(score(e)) for e in unseen]


def tda_paper(E, T, rounds=3, alpha=0.5, shots=3, beta=5.0):
    text = [[float(e @ t) for t in T] for e in E]
    scores = [row.copy() for row in text]
    for _ in range(rounds):
        old = [row.copy() for row in scores]
        for c in range(len(T)):
            members = [i for i in range(len(E)) if first_max(old[i]) == c]
            cache = sorted(members, key=lambda i: -max(old[i]))[:shots]
            total = sum(max(old[k]) for k in cache)
            for i, e in enumerate(E):
                bonus = sum(
                    max(old[k]) / total * math.exp(-beta * (1 - float(e @ E[k]))) for k in cache
                )
                scores[i][c] = text[i][c] + alpha * bonus
    return first_maxima(scores)


def scatters(E, labels, C):
    d = E.shape[1]
    mu = E.mean(0)
    S_W, S_B = np.zeros((d, d)), np.zeros((d, d))
    for c in range(C):
        rows = [E[i] for i in range(len(E)) if labels[i] == c]
        if not rows:
            continue
        mu_c = sum(rows) / len(rows)
        for e in rows:
            S_W += np.outer(e - mu_c, e - mu_c)
        S_B += len(rows) * np.outer(mu_c - mu, mu_c - mu)
    return S_W, S_B


def pca_pp(E, T, K=60, rounds=3, rho=1.0):
    d = E.shape[1]
    current = E
    for _ in range(rounds):
        labels = zero_shot(current, T)
        S_W, S_B = scatters(E, labels, len(T))
        F = np.linalg.inv(S_W + rho * np.trace(S_W) / d * np.eye(d)) @ S_B
        values, vectors = np.linalg.eig(F)
        k = min(K, len(set(labels)) - 1)
        leading = vectors[:, np.argsort(-values.real)[:k]].real
        P = leading @ np.linalg.inv(leading.T @ leading) @ leading.T
        current = np.array([unit(e @ P) for e in E])
    return zero_shot(current, T)


def subtta(E, T):
    """By the rotation of all of space that takes one subspace onto the other, plane by plane."""
    d = E.shape[1]
    m = E.mean(0)
    k = min(len(T) - 1, len(E) - 1)
    text = np.linalg.eigh(T.T @ T)[1][:, ::-1][:, 1 : k + 1]
    audio = np.linalg.eigh((E - m).T @ (E - m))[1][:, ::-1][:, :k]
    X, cosines, Yt = np.linalg.svd(audio.T @ text)
    P, Q = audio @ X, text @ Yt.T
    R = np.eye(d)
    for j in range(k):
        normal = unit(Q[:, j] - cosines[j] * P[:, j])
        sine = math.sqrt(max(1 - cosines[j] ** 2, 0))
        plane = np.stack([P[:, j], normal])
        turn = np.array([[cosines[j], sine], [-sine, cosines[j]]])
        R = R @ (np.eye(d) + plane.T @ (turn - np.eye(2)) @ plane)
    moved = (E - m) @ R @ text @ text.T
    return zero_shot(moved, T)


def gaussian_em(E, T, s=100.0, iterations=10, kappa=5.0, rho=1.0, prior="learned"):
    N, d = E.shape
    C = len(T)
    R = np.array([softmax([s * float(e @ t) for t in T]) for e in E])
    up = down = 0.0
    for c in range(C):
        n = R[:, c].sum()
        dev_a = sum(R[i, c] * E[i] for i in range(N)) / n - E.mean(0)
        dev_t = T[c] - T.mean(0)
        up += n * float(dev_a @ dev_t)
        down += n * float(dev_t @ dev_t)
    anchors = [E.mean(0) + max(up / down, 0) * (t - T.mean(0)) for t in T]
    for _ in range(iterations):
        n = R.sum(0)
        mu = [(R[:, c] @ E + kappa * anchors[c]) / (n[c] + kappa) for c in range(C)]
        S = np.zeros((d, d))
        for c in range(C):
            X = E - mu[c]
            S += (X.T * R[:, c]) @ X / N
        inverse = np.linalg.inv(S + rho * np.trace(S) / d * np.eye(d))
        log = np.empty((N, C))
        for i in range(N):
            for c in range(C):
                x = E[i] - mu[c]
                share = (n[c] + 1) / (N + C) if prior == "learned" else 1 / C
                log[i, c] = -0.5 * float(x @ inverse @ x) + math.log(share)
        R = np.array([softmax(row) for row in log])
    return [first_max(row) for row in log]


def zlap(E, T, k=5, gamma=5.0, alpha=0.3, unseen=None):
    N, C = len(E), len(T)
    W = np.zeros((C + N, C + N))

    def links(e, but=None):
        texts = sorted(range(C), key=lambda c: -float(e @ T[c]))[:k]
        clips = sorted((j for j in range(N) if j != but), key=lambda j: -float(e @ E[j]))[:k]
        edges = [(c, max(float(e @ T[c]), 0) ** gamma) for c in texts]
        return edges + [(C + j, max(float(e @ E[j]), 0)) for j in clips]

    for i in range(N):
        for node, w in links(E[i], but=i):
            W[C + i, node] += w
            W[node, C + i] += w
    half = np.diag([1 / math.sqrt(x) if x > 0 else 1.0 for x in W.sum(0)])
    Z = np.linalg.inv(np.eye(C + N) - alpha * half @ W @ half)[:, :C]
    if unseen is None:
        return [first_max(Z[C + i]) for i in range(N)]
    return [first_max(sum(w * Z[node] for node, w in links(e))) for e in unseen]


def affine_logits(E, T, s, gain, bias):
    d = E.shape[1]
    return np.array([[s * float(unit(gain * e + bias / math.sqrt(d)) @ t) for t in T] for e in E])


def descend(loss, d, steps, rate):
    """Adam on the central differences of ``loss(gain, bias)``; returns where it ends."""
    at = np.concatenate([np.ones(d), np.zeros(d)])
    m, v = np.zeros(2 * d), np.zeros(2 * d)
    for t in range(1, steps + 1):
        f = loss(t - 1, at)  # what is held fixed in this step is found where the step begins
        g = np.zeros(2 * d)
        for j in range(2 * d):
            step = np.zeros(2 * d)
            step[j] = 1e-5
            g[j] = (f(at + step) - f(at - step)) / 2e-5
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        at = at - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return at[:d], at[d:]


def tent_affine(E, T, s, steps, rate):
    """Where the descent ends: gain and bias."""
    d = E.shape[1]

    def loss(_, __):
        def f(x):
            rows = affine_logits(E, T, s, x[:d], x[d:])
            return sum(nats(softmax(row)) for row in rows) * math.log(len(T)) / len(E)

        return f

    return descend(loss, d, steps, rate)


def conmix_affine(E, T, s, rounds, steps, rate):
    """Where the descent ends: gain and bias."""
    (N, d), C = E.shape, len(T)
    held = {}

    def posteriors(x, rows):
        return np.array([softmax(row) for row in affine_logits(rows, T, s, x[:d], x[d:])])

    def loss(step, at):
        if step % steps == 0:
            U = np.array([unit(at[:d] * e + at[d:] / math.sqrt(d)) for e in E])
            p = posteriors(at, E)
            soft = [unit(sum(p[i, c] * U[i] for i in range(N))) for c in range(C)]
            y = zero_shot(U, soft)
            seen = [c for c in range(C) if c in y]
            hard = [unit(sum(U[i] for i in range(N) if y[i] == c)) for c in seen]
            held["y"] = [seen[j] for j in zero_shot(U, hard)]
        damaged = E.copy()
        for j in range(d):
            if j % 10 == (step % steps) % 10:
                damaged[:, j] = 0
        fixed = posteriors(at, E)

        def f(x):
            p, q = posteriors(x, E), posteriors(x, damaged)
            pseudo = -sum(math.log(p[i, held["y"][i]]) for i in range(N)) / N
            apart = sum(fixed[i, c] * -math.log(q[i, c]) for i in range(N) for c in range(C)) / N
            return pseudo + apart - np.linalg.svd(p, compute_uv=False).sum() / N

        return f

    return descend(loss, d, rounds * steps, rate)


def first_maxima(rows):
    return [first_max(row) for row in rows]


def neighbour_cosines(E, k):
    """w (N, N): the cosine from every clip to its k nearest, zero elsewhere."""
    N = len(E)
    w = np.zeros((N, N))
    for i in range(N):
        others = sorted((j for j in range(N) if j != i), key=lambda j: -float(E[i] @ E[j]))
        for j in others[:k]:
            w[i, j] = float(E[i] @ E[j])
    return w


def tempered_assignments(z, text, g, w, k=3, steps=5):
    N, C = z.shape
    for _ in range(steps):
        pull = [sum((w[i, j] + w[j, i]) * z[j] for j in range(N)) for i in range(N)]
        logits = [
            [math.log(text[i, c]) + g[i][c] / 50 + pull[i][c] / (2 * k) for c in range(C)]
            for i in range(N)
        ]
        z = np.array([softmax(row) for row in logits])
    return z


def log_gaussians(E, mu, v):
    """Without the determinant: -1/2 sum (e - mu_c)^2 / v_c."""
    return [[-0.5 * float(((e - m) ** 2 / u).sum()) for m, u in zip(mu, v, strict=True)] for e in E]


def stata(E, T, s=100.0, alpha=1.0, rounds=10, unseen=None):
    N, C = len(E), len(T)
    w = neighbour_cosines(E, 3)
    text = np.array([softmax([s * float(e @ t) for t in T]) for e in E])
    z = text.copy()
    v_0 = sum(z[i, c] * (E[i] - T[c]) ** 2 for i in range(N) for c in range(C)) / N
    mu, v = list(T), [v_0] * C
    for _ in range(rounds):
        z = tempered_assignments(z, text, log_gaussians(E, mu, v), w)
        labels = first_maxima(z)
        for c in range(C):
            n = sum(1 for y in labels if y == c)
            b = n / (n + alpha)
            mean = unit(sum(z[i, c] * E[i] for i in range(N)))
            mu[c] = unit(b * mean + (1 - b) * T[c])
            spread = sum(z[i, c] * (E[i] - mu[c]) ** 2 for i in range(N)) / z[:, c].sum()
            v[c] = b * spread + (1 - b) * (v_0 + (T[c] - mu[c]) ** 2)
    if unseen is not None:
        g = log_gaussians(unseen, mu, v)
        return [
            first_max([s * float(e @ T[c]) + row[c] / 50 for c in range(C)])
            for e, row in zip(unseen, g, strict=True)
        ]
    return first_maxima(tempered_assignments(z, text, log_gaussians(E, mu, v), w))


def transclip(E, T, s=100.0, rounds=10, unseen=None):
    (N, d), C = E.shape, len(T)
    w = neighbour_cosines(E, 3)
    text = np.array([softmax([s * float(e @ t) for t in T]) for e in E])
    z = text.copy()
    mu = []
    for c in range(C):
        best = sorted(range(N), key=lambda i: (-text[i, c], -float(E[i] @ T[c])))[:8]
        mu.append(unit(sum(text[i, c] * E[i] for i in best)))
    v = np.full(d, 1 / d)
    for _ in range(rounds):
        z = tempered_assignments(z, text, log_gaussians(E, mu, [v] * C), w)
        mu = [unit(sum(z[i, c] * E[i] for i in range(N))) for c in range(C)]
        v = sum(z[i, c] * (E[i] - mu[c]) ** 2 for i in range(N) for c in range(C)) / N
    if unseen is not None:
        g = log_gaussians(unseen, mu, [v] * C)
        return [
            first_max([s * float(e @ T[c]) + row[c] / 50 for c in range(C)])
            for e, row in zip(unseen, g, strict=True)
        ]
    return first_maxima(tempered_assignments(z, text, log_gaussians(E, mu, [v] * C), w))


def text_mixture(E, T, s=100.0, rounds=10):
    (N, d), C = E.shape, len(T)
    logits = [[s * float(e @ t) for t in T] for e in E]
    for _ in range(rounds):
        r = np.array([softmax(row) for row in logits])
        mu = [sum(r[i, c] * E[i] for i in range(N)) / r[:, c].sum() for c in range(C)]
        total = sum(r[i, c] * ((E[i] - mu[c]) ** 2).sum() for i in range(N) for c in range(C))
        variance = total / (N * d)
        logits = [
            [
                s * float(e @ T[c]) - float(((e - mu[c]) ** 2).sum()) / (2 * variance)
                for c in range(C)
            ]
            for e in E
        ]
    return first_maxima(logits)


def onzeta(E, T, s=100.0, unseen=None):
    N, C = len(E), len(T)
    rho, w = [0.0] * C, [t.copy() for t in T]

    def raised(e):
        p = softmax([s * float(e @ t) for t in T])
        p = [p[c] * math.exp(rho[c]) for c in range(C)]
        return np.array(p) / sum(p)

    labels = []
    for i, e in enumerate(E, start=1):
        p, q = raised(e), softmax([float(e @ x) / 0.04 for x in w])
        for c in range(C):
            rho[c] = max(0.0, rho[c] - 20 / math.sqrt(i) * (p[c] - 1 / C))
        b = 0.8 * math.sqrt(i / N)
        labels.append(first_max([(1 - b) * p[c] + b * q[c] for c in range(C)]))
        w = [unit(w[c] - 0.5 / math.sqrt(i) / 0.04 * (q[c] - p[c]) * e) for c in range(C)]
    if unseen is None:
        return labels
    rows = [
        0.2 * raised(e) + 0.8 * np.array(softmax([float(e @ x) / 0.04 for x in w])) for e in unseen
    ]
    return first_maxima(rows)


def das(E, T, noise_text):
    drifts = [unit(sum(t[c] - T[c] for t in noise_text)) for c in range(len(T))]
    return first_maxima(
        [[float(e @ T[c]) + 0.1 * float(e @ drifts[c]) for c in range(len(T))] for e in E]
    )


def prompt_weights(E, T, prompt_text, s=100.0, steps=20):
    """The gradient by central differences of the mean entropy in the weights."""
    P, C = len(prompt_text), len(T)

    def logits(e, beta):
        return [s * sum(beta[j] * float(e @ prompt_text[j][c]) for j in range(P)) for c in range(C)]

    def entropy(beta):
        return sum(nats(softmax(logits(e, beta))) for e in E) * math.log(C) / len(E)

    log_beta = np.full(P, -math.log(P))
    for _ in range(steps):
        beta = np.exp(log_beta)
        g = np.zeros(P)
        for j in range(P):
            step = np.zeros(P)
            step[j] = 1e-5
            g[j] = (entropy(beta + step) - entropy(beta - step)) / 2e-5
        log_beta = np.log(softmax((log_beta - g) / 2))
    return first_maxima([logits(e, np.exp(log_beta)) for e in E])

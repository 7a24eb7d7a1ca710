"""Cases small enough to work by hand, and second ways to the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from prism_audio.methods import Context, make
from prism_audio.methods.neighbours import nearest
from prism_audio.methods.pca_pp import discriminant_basis
from prism_audio.methods.sinkhorn import balancing_bias
from prism_audio.methods.tda import Cache
from tests.helpers.shift import shifted, unit

RNG = np.random.default_rng(0)


def test_contextda_takes_away_what_the_background_explains():
    T = np.eye(3)
    e = unit(np.array([[1.0, 0.9, 0.0]]))  # class 1 under a background that sounds like class 0
    hum = np.array([[1.0, 0.0, 0.0]])
    assert make("zero_shot").fit(e, T).labels == 0
    assert make("contextda_audio").fit(e, T, Context(background_audio=hum[0])).labels == 1
    # Three prompts of which one names it: a third of half of 1 is more than the lead of .074.
    prompts = np.vstack([hum, [[0, 0, 1.0]], [[0, 0, 1.0]]])
    assert make("contextda_text").fit(e, T, Context(background_text=prompts)).labels == 1
    assert make("contextda_text", tau=0.2).fit(e, T, Context(background_text=prompts)).labels == 0


def test_mean_shift_undoes_a_translation_of_a_balanced_batch():
    T = np.eye(4)
    E = T + np.array([0.0, 2.0, 0.0, 0.0])
    assert make("zero_shot").fit(E, T).labels.tolist() == [1, 1, 1, 1]
    # Rows are unit rows by then, so the shift is not quite one; it is undone all the same.
    assert make("mean_shift").fit(E, T).labels.tolist() == [0, 1, 2, 3]


def test_sinkhorn_gives_every_class_its_share():
    logits = RNG.standard_normal((90, 6)) * 3 + np.array([5, 0, 0, -4, 0, 0])
    v = balancing_bias(logits, 1000, 1e-9)
    p = np.exp(logits + v)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p.sum(axis=0), 15, rtol=1e-6)
    # A bias on the logits is what it undoes, so none is left to see.
    again = balancing_bias(logits + np.array([1.0, -2, 3, 0, 0, 7]), 1000, 1e-9)
    shift = np.array([1.0, -2, 3, 0, 0, 7])
    np.testing.assert_allclose(again + shift - shift.mean(), v, atol=1e-5)


def test_the_cache_of_tda_keeps_the_surest():
    cache = Cache(C=2, shots=2, d=3, alpha=2.0, beta=5.0)
    keys = np.eye(3)
    for h, key in ((0.5, keys[0]), (0.3, keys[1]), (0.4, keys[2]), (0.9, -keys[1])):
        cache.offer(0, key, np.array([1.0, 0.0]), h)
    assert sorted(cache.entropies[0].tolist()) == [0.3, 0.4]
    # <e, k> is 1 for one key that was kept and 0 for the other; class 1 has none.
    expected = 2 * (1 + np.exp(-5))
    np.testing.assert_allclose(cache.score(keys[1:2]), [[expected, 0.0]])
    np.testing.assert_allclose(cache.score(keys[:1]), [[4 * np.exp(-5), 0.0]])


def test_tda_depends_on_the_order_of_the_stream():
    E, T, _, _ = shifted(120, 24, 6, seed=4)
    order = RNG.permutation(120)
    method = make("tda", scale=8.0)
    assert not np.array_equal(method.fit(E[order], T).labels, method.fit(E, T).labels[order])


def test_pca_pp_is_the_published_one_with_pairs_of_a_pseudo_class():
    E, T, _, _ = shifted(400, 20, 5, seed=2)
    y = np.argmax(E @ T.T, axis=1)
    X = E - E.mean(axis=0)
    # Every clip paired with every clip of its class: contrastive and plain covariance.
    mates = np.array([X[y == c].mean(axis=0) for c in y])
    S_plus, S = (X.T @ mates + mates.T @ X) / (2 * len(X)), X.T @ X / len(X)
    published = linalg.eigh(S_plus, S)[1][:, ::-1][:, :3]
    ours = discriminant_basis(E, y, 5, K=3, rho=1e-12)
    assert linalg.subspace_angles(published, ours).max() < 1e-5


def test_subtta_undoes_a_rotation_of_the_text_subspace():
    rng = np.random.default_rng(5)
    T = unit(rng.standard_normal((5, 30)) + rng.standard_normal(30))
    truth = np.arange(200) % 5
    clean = unit(T[truth] + 0.02 * rng.standard_normal((200, 30)))
    skew = rng.standard_normal((30, 30)) / np.sqrt(30)
    E = clean @ linalg.expm(0.35 * (skew - skew.T))
    assert np.mean(make("subtta").fit(E, T).labels == truth) > 0.99


def test_a_class_without_clips_keeps_its_anchor_in_stata():
    E, T, truth, _ = shifted(200, 40, 6, seed=1, shift=0.2, spread=0.5)
    few = truth < 2
    labels = make("stata").fit(E[few], T).labels
    assert np.mean(labels == truth[few]) > 0.98


def test_labels_flow_along_a_chain():
    """The last clip is a little nearer to the other text, but its neighbours are all of the first."""
    angles = np.radians([0, 90, 10, 15, 20, 25, 46])
    nodes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    T, E = nodes[:2], nodes[2:]
    assert make("zero_shot").fit(E, T).labels.tolist() == [0, 0, 0, 0, 1]
    assert make("zlap", k=3, alpha=0.9).fit(E, T).labels.tolist() == [0, 0, 0, 0, 0]
    assert make("zlap", k=3, alpha=0.9).fit(E[:, ::-1], T).labels.tolist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("k", [1, 3, 50])
def test_nearest_neighbours_by_blocks(k, monkeypatch):
    monkeypatch.setattr("prism_audio.methods.neighbours.CELLS", 140)  # blocks of 7 rows
    X = unit(RNG.standard_normal((20, 5)))
    index, cosine = nearest(X, X, k, itself=True)
    S = X @ X.T
    for i in range(20):
        others = sorted((j for j in range(20) if j != i), key=lambda j: -S[i, j])[:k]
        assert sorted(index[i].tolist()) == sorted(others)
        np.testing.assert_allclose(np.sort(cosine[i]), np.sort(S[i, others]))

"""What every method promises, whatever it does inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_audio import PrismError
from prism_audio.methods import METHODS, Context, Kind, make
from tests.helpers.shift import shifted, text_context, unit

RNG = np.random.default_rng(0)
PARALLEL = [name for name in METHODS if name not in ("tda", "onzeta")]  # streams
# Their answer for a batch is more than their answers for its clips: caches that fill, neighbours.
MORE_THAN_A_HEAD = {"tda", "onzeta", "zlap", "stata", "transclip"}


def rows(N, d):
    return unit(RNG.standard_normal((N, d)))


def knowing(T):
    d = T.shape[1]
    rng = np.random.default_rng(d)
    background = unit(rng.standard_normal((3, d)))
    return replace(text_context(T), background_text=background, background_audio=background[0])


def test_what_a_table_needs_to_know_is_there():
    for name, method in METHODS.items():
        assert method.name == name
        assert len(method.origin) > 10
        assert "\n" not in method.origin
        assert isinstance(method.kind, Kind)
    assert {m for m in METHODS if METHODS[m].gradients} == {"tent_affine", "conmix_affine"}
    assert {m for m in METHODS if METHODS[m].kind is Kind.ORACLE} == {
        "contextda_text",
        "contextda_audio",
    }


@pytest.mark.parametrize("name", METHODS)
def test_labels_and_unseen_clips(name):
    E, T, _, _ = shifted(200, 80, 7, seed=1)
    context = knowing(T)
    before = E.copy(), T.copy()
    fitted = make(name).fit(E, T, context)
    assert np.array_equal(E, before[0])
    assert np.array_equal(T, before[1])
    assert fitted.labels.shape == (200,)
    assert set(fitted.labels.tolist()) <= set(range(7))
    assert fitted.size > 0
    new = shifted(50, 80, 7, seed=2)[0]
    labels = fitted.predict(new)
    # A clip alone gets the same answer as in any batch.
    assert [int(fitted.predict(e[None])[0]) for e in new] == labels.tolist()
    if name not in MORE_THAN_A_HEAD:
        assert np.array_equal(fitted.predict(E), fitted.labels)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_twice(name):
    E, T, _, _ = shifted(150, 70, 6, seed=8)
    context = knowing(T)
    assert np.array_equal(
        make(name).fit(E, T, context).labels, make(name).fit(E, T, context).labels
    )


# The public script's labels hang on the last bit of sums over rows: see geometry/released.py.
@pytest.mark.parametrize("name", [name for name in PARALLEL if name != "prism_released"])
def test_the_order_of_clips_does_not_matter(name):
    E, T, _, _ = shifted(240, 64, 8, seed=3)
    context = knowing(T)
    order = RNG.permutation(240)
    labels = make(name).fit(E, T, context).labels
    assert np.array_equal(make(name).fit(E[order], T, context).labels, labels[order])


@pytest.mark.parametrize("name", [name for name in PARALLEL if name != "prism_released"])
def test_the_order_of_classes_does_not_matter(name):
    E, T, _, _ = shifted(240, 64, 8, seed=4)
    context = knowing(T)
    order = RNG.permutation(8)
    labels = make(name).fit(E, T, context).labels
    assert np.array_equal(order[make(name).fit(E, T[order], knowing(T[order])).labels], labels)


@pytest.mark.parametrize("name", METHODS)
def test_rows_of_any_length_and_type(name):
    E, T, _, _ = shifted(120, 64, 5, seed=5)
    context = knowing(T)
    stretched = (E * RNG.uniform(0.1, 10, (120, 1))).tolist()
    expected = make(name).fit(E, T, context)
    fitted = make(name).fit(stretched, 3 * T, context)
    new = shifted(30, 64, 5, seed=6)[0]
    if name == "prism_released":  # chaotic in the last bit, but not lost
        assert np.mean(fitted.labels == expected.labels) > 0.8
        return
    assert np.array_equal(fitted.labels, expected.labels)
    assert np.array_equal(fitted.predict(7 * new), expected.predict(new))
    single = make(name).fit(E.astype(np.float32), T.astype(np.float32), context)
    assert np.mean(single.labels == expected.labels) > 0.97


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("N", "d", "C"),
    [(1, 8, 3), (1, 1, 1), (2, 8, 3), (5, 64, 3), (3, 8, 20), (40, 8, 1), (30, 4, 40), (50, 2, 2)],
)
def test_odd_shapes(name, N, d, C):
    with np.errstate(all="raise", under="ignore"):
        T = rows(C, d)
        fitted = make(name).fit(rows(N, d), T, knowing(T))
        new = fitted.predict(rows(4, d))
    for labels in (fitted.labels, new):
        assert ((labels >= 0) & (labels < C)).all()
    assert len(fitted.labels) == N


@pytest.mark.parametrize("name", METHODS)
def test_silent_clips_twins_and_absent_classes(name):
    E, T, _, _ = shifted(100, 64, 5, seed=7)
    E[3] = 0
    E[10:30] = E[10]
    T[4] = unit(-E.sum(axis=0))  # nothing is like it
    with np.errstate(all="raise", under="ignore"):
        labels = make(name).fit(E, T, knowing(T)).labels
    assert len(labels) == 100
    if name not in {"sinkhorn", "prism_released"}:  # the one wants shares, the other is chaotic
        assert np.mean(labels != 4) > 0.8


@pytest.mark.parametrize("name", METHODS)
def test_all_clips_alike(name):
    E, T = np.tile(rows(1, 16), (20, 1)), rows(4, 16)
    with np.errstate(all="raise", under="ignore"):
        labels = make(name).fit(E, T, knowing(T)).labels
    assert len(labels) == 20


@pytest.mark.parametrize("name", METHODS)
def test_bad_arrays_get_an_error_that_says_so(name):
    E, T = rows(10, 8), rows(3, 8)
    broken = E.copy()
    broken[4, 2] = np.nan
    context = knowing(T)
    with pytest.raises(PrismError, match="4"):
        make(name).fit(broken, T, context)
    with pytest.raises(PrismError, match="9"):
        make(name).fit(E, rows(3, 9), context)
    with pytest.raises(PrismError, match="2D"):
        make(name).fit(E[0], T, context)
    with pytest.raises(PrismError, match="9"):
        make(name).fit(E, T, context).predict(rows(2, 9))


@pytest.mark.parametrize("name", ["contextda_text", "contextda_audio"])
def test_an_oracle_asks_for_what_it_needs(name):
    needs = "background_" + name.removeprefix("contextda_")
    with pytest.raises(PrismError, match=needs):
        make(name).fit(rows(10, 8), rows(3, 8))
    with pytest.raises(PrismError, match="5"):
        make(name).fit(rows(10, 8), rows(3, 8), Context(**{needs: rows(3, 5)}))


def test_names_and_parameters_are_checked():
    with pytest.raises(PrismError, match="zero_shot"):
        make("zeroshot")
    with pytest.raises(PrismError, match="shots"):
        make("tda", shot=3)
    with pytest.raises(PrismError, match="shots=0"):
        make("tda", shots=0)
    with pytest.raises(PrismError, match=r"rounds=2\.5"):
        make("pca_pp", rounds=2.5)
    with pytest.raises(PrismError, match="matched"):
        make("sinkhorn", scale="auto")
    with pytest.raises(PrismError, match="below 1"):
        make("zlap", alpha=1.0)
    assert make("prism_paper", K=7).arguments["K"] == 7


@pytest.mark.parametrize("name", ["tda", "sinkhorn"])
def test_a_matched_scale_sees_only_the_shape_of_the_cosines(name):
    """One more coordinate that all texts share: their cosines shrink, and nothing else changes."""
    E, T, _, _ = shifted(120, 64, 6, seed=9)
    wide = np.hstack([E, np.zeros((120, 1))])
    near = unit(np.hstack([T, np.full((6, 1), 3.0)]))
    method = make(name, scale="matched")
    assert np.array_equal(method.fit(E, T).labels, method.fit(wide, near).labels)

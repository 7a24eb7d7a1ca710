"""The scikit-learn face: parameters, switches, tensors, and scikit-learn's own checks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from prism_audio import PRISM, PrismError
from prism_audio.errors import InputError
from prism_audio.geometry.abr import abr, apply_map
from prism_audio.geometry.car import car
from prism_audio.geometry.ccvd import ccvd, find_scatter
from prism_audio.geometry.opca import opca
from prism_audio.geometry.pct import pct
from prism_audio.geometry.rows import formed, original
from prism_audio.geometry.soft import soft_gain, weigh
from prism_audio.geometry.source import InMemory
from tests.helpers.problems import problem


class WithPrototypes(PRISM):
    """PRISM with prototypes of its own, so that scikit-learn can call ``fit(X, y)``."""

    def fit(self, X, y=None, **named):
        return super().fit(X, **(named or {"prototypes": prototypes_for(X)}))

    def partial_fit(self, X, y=None):
        first = {} if hasattr(self, "reservoir_") else {"prototypes": prototypes_for(X)}
        return super().partial_fit(X, **first)


def prototypes_for(X):
    try:
        d = (X if issparse(X) else np.asarray(X)).shape[1]
    except (IndexError, ValueError):
        d = 3
    return np.random.default_rng(0).standard_normal((3, d))


@parametrize_with_checks([WithPrototypes("paper"), WithPrototypes()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_parameters_are_stored_and_cloned():
    model = PRISM("paper", K=7, car=True, gamma=3.0)
    assert model.get_params()["K"] == 7
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(alpha=0.5).alpha == 0.5
    E, T, _ = problem(100, 16, 3)
    fitted = twin.fit(E, prototypes=T)
    assert fitted.parameters_.alpha == 0.5
    assert fitted.parameters_.K == 7
    assert fitted.parameters_.rounds == 3, "what is not given comes from the preset"


def test_prototypes_are_wanted():
    with pytest.raises(PrismError, match=r"fit\(E, prototypes=T\)"):
        PRISM().fit(np.eye(4))


def test_labels_name_the_classes():
    E, T, _ = problem(100, 16, 3)
    assert PRISM().fit(E, prototypes=T, labels=["a", "b", "c"]).adapter_.labels == ("a", "b", "c")
    with pytest.raises(PrismError, match="2 labels for 3 prototypes"):
        PRISM().fit(E, prototypes=T, labels=["a", "b"])


def test_the_verdict_follows_the_evidence():
    E, T, _ = problem(600, 16, 5, noise=1.0)
    nothing, few, many = (PRISM().fit(E[:n], prototypes=T) for n in (3, 12, 600))
    assert nothing.verdict_ == "zero-shot"
    assert "3 clips for 5 classes" in nothing.verdict_.reasons[0]
    np.testing.assert_array_equal(nothing.predict(E), np.argmax(E @ T.T, axis=1))
    assert many.verdict_ == "adapted"
    weights = [model.verdict_.numbers["weight"] for model in (nothing, few, many)]
    assert weights[0] == 0 <= weights[1] < weights[2] <= 1


def test_a_batch_of_one_class_does_not_speak_for_all():
    E, T, truth = problem(3000, 32, 8)
    model = PRISM().fit(E[truth == 2], prototypes=T)
    assert model.verdict_ == "zero-shot"
    assert "several classes" in " ".join(model.verdict_.reasons)
    assert PRISM(guard=False).fit(E[truth == 2], prototypes=T).verdict_ == "adapted"


def test_more_than_the_limits_is_refused_before_anything_is_computed():
    E, T, _ = problem(20, 8, 3)
    with pytest.raises(InputError, match=r"at most 5,000 classes.*5,001"):
        PRISM().fit(E, prototypes=np.ones((5001, 8)))
    with pytest.raises(InputError, match=r"at most 8,192 numbers in a row.*8,193"):
        PRISM().fit(np.ones((2, 8193), np.float32), prototypes=np.ones((2, 8193), np.float32))

    class Endless(InMemory):
        shape = (10**8 + 1, 8)

    with pytest.raises(InputError, match="at most 100,000,000 rows; calibrate on a sample"):
        PRISM().fit(Endless(E), prototypes=T)


def soft_deflation(E, T):
    rows = original(InMemory(E), T)
    scatter = find_scatter(rows, len(T), 0.7)
    return formed(weigh(rows.X, soft_gain(scatter.S_W, scatter.rank_bound, 2.0), T).X)


SWITCHED_OFF = {"opca": False, "deflation": "none", "pct": False, "abr": False, "car": False}


@pytest.mark.parametrize(
    ("switches", "by_hand"),
    [
        ({"opca": True}, lambda E, T: opca(E, T)),
        ({"opca": True, "deflation": "hard"}, lambda E, T: ccvd(opca(E, T), T, K=4)),
        ({"opca": True, "deflation": "soft"}, lambda E, T: soft_deflation(opca(E, T), T)),
        ({"pct": True}, lambda E, T: pct(E, T)),
        ({"car": True}, lambda E, T: car(E, E, T)),
        ({"opca": True, "abr": True}, lambda E, T: apply_map(E, abr(E, opca(E, T)))),
    ],
    ids=["opca", "opca+ccvd", "opca+soft", "pct", "car", "opca+abr"],
)
def test_every_component_can_stand_alone(switches, by_hand):
    E, T, _ = problem(400, 24, 4)
    model = PRISM("paper", rounds=1, K=4, **(SWITCHED_OFF | switches)).fit(E, prototypes=T)
    np.testing.assert_array_equal(model.labels_, np.argmax(by_hand(E, T) @ T.T, axis=1))


def test_without_abr_the_rounds_hand_on_their_targets():
    E, T, _ = problem(400, 24, 4)
    model = PRISM("paper", rounds=2, K=4, abr=False).fit(E, prototypes=T)
    target = E
    for _ in range(2):
        target = pct(ccvd(opca(target, T), T, K=4), T)
    np.testing.assert_array_equal(model.labels_, np.argmax(target @ T.T, axis=1))
    np.testing.assert_allclose(model.adapter_.W, abr(E, target), atol=1e-10)


def test_every_round_of_the_composition_is_reported():
    E, T, _ = problem(300, 24, 4)
    rounds = PRISM(rounds=4).fit(E, prototypes=T).diagnostics_
    assert [facts["round"] for facts in rounds] == [1, 2, 3, 4]
    for facts in rounds:
        assert facts["valid_classes"] == 4
        assert 0 < facts["deflated_rank"] < 24
        assert facts["scale"] > 0


@pytest.mark.parametrize("preset", ["paper", "released"])
def test_every_round_is_reported(preset):
    E, T, _ = problem(300, 24, 4)
    model = PRISM(preset, K=5).fit(E, prototypes=T)
    assert [facts["round"] for facts in model.diagnostics_] == [1, 2, 3]
    for facts in model.diagnostics_:
        assert facts["opca_kept"] == pytest.approx(240, abs=2)
        assert facts["ccvd_kept"] == pytest.approx(210, abs=2)
        assert facts["valid_classes"] == 4
        assert 0.8 <= facts["scale"] <= 1.2
        assert 0 < facts["deflated_rank"] < 24
        assert 0 <= facts["residual"] < 1


def test_the_reported_residual_and_condition_are_what_they_say():
    E, T, _ = problem(300, 24, 4)
    for options in ({}, {"car": True}, {"ridge_centre": "identity"}):
        model = PRISM("paper", rounds=1, K=5, **options).fit(E, prototypes=T)
        target = pct(ccvd(opca(E, T), T, K=5), T)
        target = car(E, target, T) if options.get("car") else target
        fitted = np.hstack([E, np.ones((300, 1))]) @ model.adapter_.W
        facts = model.diagnostics_[0]
        wanted = np.mean(np.sum((fitted - target) ** 2, axis=1))
        assert facts["residual"] == pytest.approx(wanted, rel=1e-6)
        A = np.hstack([E, np.ones((300, 1))])
        wanted = np.linalg.cond(A.T @ A + 0.01 * np.eye(25), 1)
        assert facts["condition"] == pytest.approx(wanted, rel=1e-6)


def test_a_strong_ridge_to_the_identity_changes_nothing():
    E, T, _ = problem(300, 24, 4)
    model = PRISM("paper", K=5, lam=1e9, ridge_centre="identity").fit(E, prototypes=T)
    np.testing.assert_allclose(model.transform(E), E, atol=1e-5)


def test_tensors_come_back_as_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    E, T, _ = problem(200, 16, 3, dtype=np.float32)
    given, wanted = torch.from_numpy(E), PRISM().fit(E, prototypes=T)
    model = PRISM().fit(given.requires_grad_(), prototypes=torch.from_numpy(T))
    for name in ("predict", "transform", "decision_function"):
        got = getattr(model, name)(given)
        assert isinstance(got, torch.Tensor)
        np.testing.assert_array_equal(got.numpy(), getattr(wanted, name)(E))
    half = model.predict(given.detach().to(torch.bfloat16))
    assert (half.numpy() == wanted.predict(E)).mean() > 0.95


def test_torch_is_never_imported():
    code = (
        "import sys, numpy as np; from prism_audio import PRISM;"
        "E = np.random.default_rng(0).standard_normal((50, 8));"
        "PRISM().fit(E, prototypes=E[:3]).predict(E); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("switch", [{"car": True}, {"opca": False}, {"deflation": "hard"}])
def test_what_the_composition_has_no_use_for_is_refused(switch):
    E, T, _ = problem(60, 16, 3)
    with pytest.raises(InputError, match="compilation='regression'"):
        PRISM(**switch).fit(E, prototypes=T)
    PRISM(**switch, compilation="regression", guard=False).fit(E, prototypes=T)


def test_probabilities_and_accuracy():
    E, T, truth = problem(300, 24, 4)
    model = PRISM().fit(E, prototypes=T, labels=list("abcd"))
    P = model.predict_proba(E)
    assert P.shape == (300, 4)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(E))
    right = np.mean(model.predict(E) == truth)
    assert model.score(E, truth) == model.score(E, np.array(list("abcd"))[truth]) == right > 0.5
    with pytest.raises(PrismError, match="one class for each row"):
        model.score(E, truth[:-1])


def test_grid_search_needs_no_scoring():
    E, T, truth = problem(200, 16, 3)
    search = GridSearchCV(PRISM("paper", K=4), {"rounds": [1, 2]}, cv=2)
    search.fit(E, truth, prototypes=T)
    assert 0.5 < search.best_score_ <= 1

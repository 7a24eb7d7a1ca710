from __future__ import annotations

import numpy as np
import pytest

from prism_audio.bench.experiment.reader import Spec
from prism_audio.bench.trials.ablation import (
    ABLATION,
    USUAL,
    Variant,
    check_specs,
    method_of,
    sensitivity_specs,
)
from prism_audio.errors import InputError
from prism_audio.methods import make


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    """Classes around prototypes, bent by a common shift and noise along a few directions."""
    random = np.random.default_rng(4)
    T = random.standard_normal((6, 40))
    T /= np.linalg.norm(T, axis=1, keepdims=True)
    y = np.repeat(np.arange(6), 60)
    E = T[y] + 0.15 * random.standard_normal((360, 40)) + 0.3 * random.standard_normal(40)
    E += random.standard_normal((360, 3)) @ random.standard_normal((3, 40)) * 0.1
    return E / np.linalg.norm(E, axis=1, keepdims=True), T


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def regression(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    A = np.hstack([X, np.ones((len(X), 1))])
    return unit(A @ np.linalg.solve(A.T @ A + 0.01 * np.eye(A.shape[1]), A.T @ Y))


def test_unchanged_it_is_the_paper(problem: tuple[np.ndarray, np.ndarray]) -> None:
    expected = make("prism_paper").fit(*problem).labels
    np.testing.assert_array_equal(Variant().fit(*problem).labels, expected)


@pytest.mark.parametrize("turns", [1, 2, 3])
@pytest.mark.parametrize("regress_from", ["origin", "previous"])
def test_variants_follow_their_description(
    problem: tuple[np.ndarray, np.ndarray], turns: int, regress_from: str
) -> None:
    from prism_audio.geometry.ccvd import ccvd
    from prism_audio.geometry.opca import opca
    from prism_audio.geometry.pct import pct

    E, T = problem
    current = E
    for _ in range(3):
        target = current
        for _ in range(turns):
            target = opca(target, T)
        target = pct(ccvd(target, T), T)
        current = regression(E if regress_from == "origin" else current, target)
    given = Variant(turns, regress_from).fit(E, T).labels  # type: ignore[arg-type]
    assert np.mean(given == (current @ T.T).argmax(axis=1)) == 1


def test_every_variant_and_every_value_can_be_made(
    problem: tuple[np.ndarray, np.ndarray],
) -> None:
    specs = [*ABLATION, *(spec for _, _, spec in sensitivity_specs())]
    assert len({spec.label for spec in specs}) == len(specs)
    for spec in specs:
        assert len(method_of(spec).fit(*problem).labels) == 360


def test_a_usual_value_is_what_the_method_takes_unasked(
    problem: tuple[np.ndarray, np.ndarray],
) -> None:
    for name, value, spec in sensitivity_specs():
        assert (name in spec.params) == (value != USUAL[name])
        if value == USUAL[name]:
            named = make("prism_paper", **spec.params, **{name: value}).fit(*problem)
            np.testing.assert_array_equal(method_of(spec).fit(*problem).labels, named.labels)


def test_a_wrong_method_is_refused_before_the_work() -> None:
    with pytest.raises(InputError, match="magic"):
        check_specs((Spec("magic"),))
    with pytest.raises(InputError, match="wand"):
        check_specs((Spec("sinkhorn", {"wand": 1}),))

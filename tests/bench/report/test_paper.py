"""The paper's numbers agree with each other as far as the paper itself does: no slip in copying."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.bench.report import paper

# The mean over its places where the paper's main table has another number.
_DISAGREES = {("us8k", "prism_car"): 71.63, ("esc50", "subtta"): 88.99}


@pytest.mark.parametrize("dataset", ["us8k", "esc50"])
@pytest.mark.parametrize("method", paper._ROWS)
def test_the_mean_over_places_is_the_main_number(dataset: str, method: str) -> None:
    values = [paper.by_place(dataset, place, method) for place in paper._PLACES[dataset]]
    assert len(values) == 10
    main = _DISAGREES.get((dataset, method), paper.MAIN[dataset][method][0])
    assert np.mean(values) == pytest.approx(main, abs=0.011)


def test_where_the_paper_disagrees_with_itself_is_said() -> None:
    for (dataset, method), mean in _DISAGREES.items():
        told = paper.DISAGREES[dataset]
        assert f"{paper.MAIN[dataset][method][0]:.2f}" in told
        assert f"{mean:.2f}" in told


def test_mixed_is_the_main_number() -> None:
    for method in paper._ROWS:
        assert paper.by_level("us8k", "mixed", method) == paper.MAIN["us8k"][method][0]


def test_what_the_paper_does_not_say_is_nothing() -> None:
    assert paper.by_place("esc50", "desert", "zero_shot") is None
    assert paper.by_level("esc50", 0.0, "zero_shot") is None
    assert paper.by_place("esc50", "bus", "zlap") is None

"""Labels as people give them."""

import numpy as np
import pytest

from prism_audio import PRISM
from prism_audio.errors import InputError
from prism_audio.model.truth import class_indices
from tests.helpers.problems import problem

NAMES = ("dog", "siren", "rain")


@pytest.mark.parametrize(
    "y",
    [
        [1, -1, 0, 2],
        np.array([1, -1, 0, 2], dtype=np.int8),
        [1.0, np.nan, 0.0, 2.0],
        ["siren", "", "dog", "rain"],
        ["siren", None, "dog", "rain"],
        ["siren", -1, "dog", "rain"],
        np.array(["siren", "-1", "dog", "rain"]),
        np.array(["siren", np.nan, "dog", "rain"], dtype=object),
    ],
)
def test_names_and_indices_are_the_same(y):
    assert class_indices(y, 4, NAMES).tolist() == [1, -1, 0, 2]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["siren", "cat", "", ""], "label 'cat', which is not one of the classes"),
        ([0, 1, 3, -1], "y holds 3; wanted the index of one of the 3 classes"),
        ([0, 1, -2, -1], "y holds -2"),
        ([0.5, 1, -1, -1], "y holds 0.5"),
        ([0, 1], "y has shape"),
        ([[0], [1], [2], [0]], "y has shape"),
    ],
)
def test_what_is_no_class_is_refused(y, message):
    with pytest.raises(InputError, match=message):
        class_indices(y, 4, NAMES)


def test_the_paper_is_blind_to_labels():
    E, T, truth = problem(60, 16, 3)
    with_labels, blind = (PRISM("paper").fit(E, y, prototypes=T) for y in (truth, None))
    np.testing.assert_array_equal(with_labels.adapter_.W, blind.adapter_.W)
    assert with_labels.adapter_.facts.labels == 0
    with pytest.raises(InputError, match="y holds 3"):
        PRISM("paper").fit(E, truth + 1, prototypes=T)

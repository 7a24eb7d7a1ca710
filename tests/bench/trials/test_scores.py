from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, recall_score

from prism_audio.bench.trials.scores import accuracy, class_accuracy, macro_f1, paired_bootstrap


def labels(seed: int, size: int = 200, classes: int = 7) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=size)
    given = np.where(random.random(size) < 0.6, truth, random.integers(classes + 2, size=size))
    return truth, given


@pytest.mark.parametrize("seed", range(4))
def test_scores_agree_with_scikit_learn(seed: int) -> None:
    truth, given = labels(seed)
    present = np.unique(truth)
    assert macro_f1(truth, given) == pytest.approx(
        f1_score(truth, given, labels=present, average="macro")
    )
    expected = recall_score(truth, given, labels=present, average=None, zero_division=0)
    found = class_accuracy(truth, given, 9)
    np.testing.assert_allclose(found[present], expected)
    assert np.isnan(np.delete(found, present)).all()
    assert accuracy(truth, given) == np.mean(truth == given)


def test_a_class_that_does_not_occur_does_not_count() -> None:
    truth = np.array([3, 3, 3, 3])
    assert macro_f1(truth, np.array([3, 3, 3, 0])) == pytest.approx(6 / 7)


def test_the_interval_of_independent_clips_is_the_normal_one() -> None:
    values = np.random.default_rng(1).standard_normal(900)
    found = paired_bootstrap(values, np.arange(900))
    half = 1.96 * values.std() / 30
    assert found.mean == pytest.approx(values.mean())
    assert found.high - found.mean == pytest.approx(half, rel=0.1)
    assert found.mean - found.low == pytest.approx(half, rel=0.1)


def test_clips_of_one_source_widen_the_interval() -> None:
    values = np.repeat(np.random.default_rng(2).standard_normal(100), 9)
    alone = paired_bootstrap(values, np.arange(900))
    together = paired_bootstrap(values, np.repeat(np.arange(100), 9))
    assert together.high - together.low == pytest.approx(3 * (alone.high - alone.low), rel=0.15)


def test_no_difference_has_no_width_and_a_seed_repeats() -> None:
    assert paired_bootstrap(np.zeros(50), np.arange(50)) == (0, 0, 0)
    values = np.random.default_rng(3).standard_normal(60)
    assert paired_bootstrap(values, np.arange(60)) == paired_bootstrap(values, np.arange(60))

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_audio import PRISM, Adapter
from prism_audio.errors import InputError
from prism_audio.geometry.confidence import probabilities
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import classify, summarise
from prism_audio.labelling.labeller import UNKNOWN
from prism_audio.model.facts import Facts


def batch_of(E: np.ndarray) -> Batch:
    n = len(E)
    return Batch(E, [f"{i}.wav" for i in range(n)], np.zeros(n), np.ones(n), "clip")


@pytest.fixture
def problem() -> tuple[Adapter, Batch]:
    rng = np.random.default_rng(0)
    T = rng.standard_normal((6, 24))
    E = T[rng.integers(6, size=300)] + 1.2 * rng.standard_normal((300, 24)) + 0.4
    model = PRISM(preset="paper", K=4).fit(E, prototypes=T, labels=list("abcdef"))
    return model.adapter_, batch_of(E.astype(np.float32))


def test_rows_are_what_the_adapter_says(problem: tuple[Adapter, Batch]) -> None:
    adapter, batch = problem
    rows = classify(batch, adapter, top=3)
    scores = adapter.scores(batch.embeddings)
    order = np.argsort(-scores, axis=1)
    names = np.array(adapter.labels)
    assert [row.best for row in rows] == names[adapter.predict(batch.embeddings)].tolist()
    assert {row.label for row in rows if row.label != row.best} <= {UNKNOWN}
    assert [row.runner_up for row in rows] == names[order[:, 1]].tolist()
    ranked = np.take_along_axis(scores, order, axis=1)
    np.testing.assert_allclose([row.score for row in rows], ranked[:, 0], atol=1e-6)
    P = probabilities(scores, adapter.facts.temperature)
    np.testing.assert_allclose([row.probability for row in rows], P.max(axis=1), atol=1e-4)
    np.testing.assert_allclose([row.margin for row in rows], ranked[:, 0] - ranked[:, 1], atol=2e-6)
    assert [[name for name, _ in row.top] for row in rows] == names[order[:, :3]].tolist()
    plain = Adapter.zero_shot(adapter.prototypes, adapter.labels)
    assert [row.zero_shot for row in rows] == names[plain.predict(batch.embeddings)].tolist()


def test_summary_counts(problem: tuple[Adapter, Batch]) -> None:
    adapter, batch = problem
    rows = classify(batch, adapter)
    summary = summarise(rows)
    assert summary.changed == sum(row.zero_shot != row.best for row in rows) > 0
    assert summary.before.total() == summary.after.total() == summary.rows == 300
    assert summary.unknown == sum(not row.convinced for row in rows) < 15
    middle = float(np.median([row.score for row in rows]))
    strict = summarise(classify(batch, adapter, threshold=middle))
    assert 0 < strict.unknown == strict.after[UNKNOWN] < 300
    assert strict.changed == summary.changed  # not to know is not to change one's mind


def test_threshold_of_the_adapter_is_the_default(problem: tuple[Adapter, Batch]) -> None:
    adapter, batch = problem
    plain = replace(adapter, facts=Facts())
    own = replace(adapter, facts=Facts(unknown_threshold=0.5))
    assert classify(batch, own) == classify(batch, plain, threshold=0.5)
    assert classify(batch, own, threshold=-1.0) == classify(batch, plain)


def test_class_called_unknown_and_a_threshold_exclude_each_other() -> None:
    adapter = Adapter.zero_shot(np.eye(2), ("dog", UNKNOWN))
    batch = batch_of(np.eye(2, dtype=np.float32))
    with pytest.raises(InputError, match="word that class differently"):
        classify(batch, adapter, threshold=0.2)
    rows = classify(batch, adapter)
    assert [row.label for row in rows] == ["dog", UNKNOWN]
    assert summarise(rows).unknown == 0


def test_one_class_has_no_runner_up() -> None:
    (row,) = classify(batch_of(np.eye(1, 3)), Adapter.zero_shot(np.eye(1, 3), ("dog",)), top=5)
    assert (row.runner_up, row.margin, row.top) == (None, None, (("dog", 1.0),))
    assert list(row.columns(5))[-2:] == ["top_1", "top_1_score"]


def test_wrong_width_is_refused(problem: tuple[Adapter, Batch]) -> None:
    with pytest.raises(InputError, match="wanted 24"):
        classify(batch_of(np.eye(3)), problem[0])

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from prism_audio import PRISM, Adapter
from prism_audio.errors import InputError
from prism_audio.labelling.labeller import SILENCE, UNKNOWN, Answer, Labeller
from prism_audio.model.facts import Facts


@pytest.fixture(scope="module")
def E() -> np.ndarray:
    rng = np.random.default_rng(0)
    T = np.random.default_rng(1).standard_normal((6, 24))
    clean = T[rng.integers(6, size=300)]
    return (clean + 1.2 * rng.standard_normal((300, 24)) + 0.4).astype(np.float32)


@pytest.fixture(scope="module")
def adapter(E: np.ndarray) -> Adapter:
    T = np.random.default_rng(1).standard_normal((6, 24))
    return PRISM(preset="paper", K=4).fit(E, prototypes=T, labels=list("abcdef")).adapter_


def same(one: Answer, other: Answer) -> bool:
    exact = ("label", "best", "index", "runner_up", "zero_shot", "convinced")
    close = ("score", "probability", "margin", "zero_shot_score")
    return all(getattr(one, name) == getattr(other, name) for name in exact) and all(
        getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-5) for name in close
    )


def test_labels_are_those_of_the_adapter(adapter: Adapter, E: np.ndarray) -> None:
    answers = Labeller(adapter).answer(E, top=3)
    assert [answer.index for answer in answers] == adapter.predict(E).tolist()
    assert [answer.index for answer in answers] == [adapter.predict_one(e) for e in E]
    assert all(answer.top[0] == (answer.best, answer.score) for answer in answers)
    assert all(answer.top[1][0] == answer.runner_up for answer in answers)
    assert all(len(answer.top) == 3 for answer in answers)


@pytest.mark.parametrize("threshold", [None, 0.6])
@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e20])
def test_one_embedding_alone_gets_the_same_answer(
    adapter: Adapter, E: np.ndarray, threshold: float | None, scale: float
) -> None:
    labeller = Labeller(adapter, threshold=threshold)
    rows = E[:60] * np.float32(scale)
    answers = labeller.answer(rows, 2)
    assert all(
        same(labeller.answer_one(e, 2), answer) for e, answer in zip(rows, answers, strict=True)
    )
    assert {answer.convinced for answer in answers} == (
        {True} if threshold is None else {True, False}
    )
    assert all((answer.label == UNKNOWN) != answer.convinced for answer in answers)


def test_other_types_and_silence(adapter: Adapter, E: np.ndarray) -> None:
    labeller = Labeller(adapter)
    assert same(labeller.answer_one(E[0].tolist()), labeller.answer_one(E[0]))
    assert same(labeller.answer_one(E[0].astype(np.float64)), labeller.answer_one(E[0]))
    assert labeller.answer_one(np.zeros(24, np.float32)).zero_shot_score == 0.0
    for wrong in (E[:2], E[0, :5], np.full(24, np.nan)):
        with pytest.raises(InputError):
            labeller.answer_one(wrong)


def test_digital_silence_is_silence_and_no_class(adapter: Adapter, E: np.ndarray) -> None:
    rows = E[:3].copy()
    rows[1] = 0
    for labeller in (Labeller(adapter), Labeller(adapter, threshold=-1.0)):
        one, silence, other = labeller.answer(rows, top=2)
        assert same(one, labeller.answer_one(rows[0]))
        assert same(other, labeller.answer_one(rows[2]))
        assert (silence.label, silence.convinced, silence.probability) == (SILENCE, False, None)
        assert {score for _, score in silence.top} == {0.0}
    names = (*adapter.labels[:-1], SILENCE)
    meant = Labeller(replace(adapter, labels=names)).answer_one(rows[1])
    assert (meant.label, meant.best, meant.convinced) == (SILENCE, SILENCE, True)
    assert names[meant.index] == SILENCE


def test_without_a_calibration_there_is_no_probability(adapter: Adapter, E: np.ndarray) -> None:
    answer = Labeller(replace(adapter, facts=Facts())).answer_one(E[0])
    assert (answer.probability, answer.convinced) == (None, True)


def test_zero_shot_beside_the_adapter(adapter: Adapter, E: np.ndarray) -> None:
    plain = Adapter.zero_shot(adapter.prototypes, adapter.labels)
    answers = Labeller(adapter).answer(E)
    assert [answer.zero_shot for answer in answers] == [adapter.labels[c] for c in plain.predict(E)]
    for answer in Labeller(plain).answer(E):
        assert answer.best == answer.zero_shot
        assert answer.score == pytest.approx(answer.zero_shot_score, abs=1e-6)


def test_ties_go_to_the_first_class() -> None:
    labeller = Labeller(Adapter.zero_shot(np.ones((3, 4)), tuple("abc")))
    answers = labeller.answer(np.random.default_rng(0).standard_normal((50, 4)), 3)
    assert {answer.best for answer in answers} == {"a"}
    assert all({name for name, _ in answer.top} == set("abc") for answer in answers)


def test_one_answer_costs_a_fraction_of_a_millisecond() -> None:
    rng = np.random.default_rng(0)
    T = rng.standard_normal((50, 512)).astype(np.float32)
    adapter = replace(Adapter.zero_shot(T), facts=Facts(temperature=0.05, unknown_threshold=0.1))
    labeller, e = Labeller(adapter), T[0]
    labeller.answer_one(e)
    seconds = []
    for _ in range(50):
        began = time.perf_counter()
        labeller.answer_one(e)
        seconds.append(time.perf_counter() - began)
    # About 0.05 ms on one core; the bound leaves room for a busy machine.
    assert min(seconds) < 0.5e-3

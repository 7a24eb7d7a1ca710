from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.experiment.protocols import cases
from prism_audio.bench.experiment.reader import PROTOCOLS, Spec
from prism_audio.bench.trials import runner
from prism_audio.bench.trials.study import embed
from prism_audio.methods import make
from tests.helpers.tiny_bench import world


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    found = world(tmp_path_factory.mktemp("world"))
    embed(found, lambda name, total: lambda count: None)
    return found


def all_cases(bench: Bench) -> list:
    experiment = bench.experiment
    return [
        case
        for protocol in PROTOCOLS
        for case in cases(protocol, bench.clips, experiment.conditions(), experiment.typical())
    ]


def test_answers_are_what_the_methods_say(bench: Bench) -> None:
    specs = bench.experiment.methods
    done = runner.run(bench, runner.plan(bench, specs, all_cases(bench)), workers=1)
    assert not done.failures
    params = {spec.label: spec for spec in specs}
    seen = set()
    for answer in done.answers:
        spec = params[answer.method]
        here, there = (
            bench.studio.embedding(condition)
            for condition in (answer.case.condition, answer.tested)
        )
        place = answer.case.condition.background
        context = bench.studio.context("background_audio", place) if place != "clean" else None
        fitted = make(spec.name, **spec.params).fit(here[answer.case.rows], bench.text, context)
        expected = fitted.predict(there[answer.rows]) if answer.case.tests else fitted.labels
        np.testing.assert_array_equal(answer.labels, expected)
        seen.add((answer.method, answer.case.protocol))
    assert {protocol for _, protocol in seen} == set(PROTOCOLS) - {"groups", "lists"}
    assert {method for method, _ in seen} == set(params)


def test_an_oracle_has_nothing_to_do_where_nothing_can_be_told(bench: Bench) -> None:
    jobs = runner.plan(bench, [Spec("contextda_audio")], all_cases(bench))
    assert jobs
    assert all(job.cases[0].condition.background != "clean" for job in jobs)


def test_nothing_is_computed_twice(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = runner.plan(bench, bench.experiment.methods, all_cases(bench))
    first = runner.run(bench, jobs, workers=1)

    def refuse(*arguments: object) -> None:
        raise AssertionError("it was done before")

    monkeypatch.setattr(runner, "_do", refuse)
    counts: list[int] = []
    jobs = runner.plan(bench, bench.experiment.methods, all_cases(bench))
    again = runner.run(bench, jobs, workers=1, progress=counts.append)
    assert sum(counts) == len(jobs)
    assert again.computed == 0
    for one, other in zip(first.answers, again.answers, strict=True):
        assert one.method == other.method
        np.testing.assert_array_equal(one.labels, other.labels)


def test_other_parameters_code_or_clips_are_other_jobs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = all_cases(bench)[:1]

    def facts(**params: object) -> list:
        return [job.facts for job in runner.plan(bench, [Spec("sinkhorn", params)], some)]

    usual = facts()
    assert facts(scale=50.0) != usual
    monkeypatch.setattr(runner, "code_digest", lambda module: f"changed {module}")
    assert facts() != usual


def test_a_method_that_fails_is_reported_and_the_rest_is_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = runner.method_of

    def broken(spec: Spec) -> object:
        method = usual(spec)
        if spec.label == "broken":

            class Broken(type(method)):  # type: ignore[misc]
                def fit(self, *arguments: object) -> None:
                    raise np.linalg.LinAlgError("no such luck")

            Broken.__module__ = type(method).__module__
            return Broken()
        return method

    monkeypatch.setattr(runner, "method_of", broken)
    specs = [Spec("mean_shift", label="broken"), Spec("mean_shift", label="whole")]
    jobs = runner.plan(bench, specs, all_cases(bench)[:2])
    done = runner.run(bench, jobs, workers=1)
    assert {failure.reason for failure in done.failures} == {"no such luck"}
    assert {failure.method for failure in done.failures} == {"broken"}
    assert [answer.method for answer in done.answers] == ["whole", "whole"]


@pytest.mark.slow
def test_processes_give_the_same(bench: Bench, tmp_path: Path) -> None:
    there = world(tmp_path)
    embed(there, lambda name, total: lambda count: None)
    some = [case for case in all_cases(bench) if case.protocol in ("transductive", "half")]
    alone = runner.run(bench, runner.plan(bench, bench.experiment.methods, some), workers=1)
    shared = runner.run(there, runner.plan(there, bench.experiment.methods, some), workers=2)
    assert not shared.failures
    for one, other in zip(alone.answers, shared.answers, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)

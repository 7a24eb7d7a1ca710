"""Run methods on embeddings: jobs that adapt and label, in parallel, each computed once and cached."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.cache import Arrays, Cache, Facts, array_digest, digest
from prism_audio.bench.code_digest import code_digest
from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.embeddings.studio import Progress, no_progress
from prism_audio.bench.experiment.conditions import CLEAN, Condition
from prism_audio.bench.experiment.experiment import Spec
from prism_audio.bench.experiment.protocols import Case
from prism_audio.bench.trials.ablation import method_of
from prism_audio.bench.trials.scores import accuracy
from prism_audio.errors import PrismError
from prism_audio.io.runtime import usable_cores
from prism_audio.methods import Context, Kind

ROOM = "answers"
# Raised when the same facts would give other answers.
_VERSION = 1

Labels = NDArray[np.int16]


@dataclass(frozen=True)
class Job:
    """One method on cases that adapt to the same condition.

    ``files`` are the embeddings of all conditions of the cases.
    """

    spec: Spec
    cases: tuple[Case, ...]
    files: dict[Condition, Path]
    context: Context | None
    facts: Facts
    name: str


@dataclass(frozen=True)
class JobResult:
    """Labels that a method gave to clips."""

    method: str  # label of the method
    case: Case  # the clips it adapted to
    tested: Condition  # the condition of the clips
    # (M,): numbers of the clips, the labels it gave them, and their classes.
    rows: NDArray[np.int64]
    labels: Labels
    truth: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """Share of correct labels."""
        return accuracy(self.truth, self.labels)


@dataclass(frozen=True)
class Failure:
    """A job that failed, and why."""

    method: str
    where: str
    reason: str


@dataclass(frozen=True)
class Outcome:
    """The results of jobs, and how many of them had to be computed."""

    answers: list[JobResult]
    failures: list[Failure]
    computed: int


def plan(bench: Bench, specs: Sequence[Spec], cases: Iterable[Case]) -> list[Job]:
    """Jobs for all methods and cases; oracles have none without background."""
    jobs = []
    text = array_digest(bench.text)
    methods = [(spec, method_of(spec)) for spec in specs]
    for condition, group in groupby(cases, lambda case: case.condition):
        members = tuple(group)
        conditions = {condition, *(test.condition for case in members for test in case.tests)}
        files = {
            there: bench.studio.path(there) for there in sorted(conditions, key=lambda c: c.name)
        }
        shape = [_case_facts(case, files) for case in members]
        place = condition.background
        for spec, method in methods:
            if method.kind is Kind.ORACLE and place == CLEAN:
                continue
            context = bench.studio.context(method.needs, place) if method.needs else None
            facts = {
                "version": _VERSION,
                "method": spec.name,
                "params": spec.params,
                "code": code_digest(type(method).__module__),
                "text": text,
                "context": _context_facts(context),
                "cases": digest(shape),
            }
            name = f"{members[0].protocol}-{condition.name}-{spec.name}"
            jobs.append(Job(spec, members, files, context, facts, name))
    return jobs


def run(
    bench: Bench, jobs: Sequence[Job], workers: int | None = None, progress: Progress = no_progress
) -> Outcome:
    """Run the jobs that are not in the cache; ``progress`` counts all of them."""
    cache = bench.studio.cache
    results: dict[int, Arrays] = {}
    waiting = []
    for number, job in enumerate(jobs):
        arrays = cache.load(ROOM, job.name, job.facts)
        if arrays is None:
            waiting.append(number)
        else:
            results[number] = arrays
            progress(1)
    failures = []
    for number, result in _results(bench, jobs, waiting, workers or usable_cores()):
        if isinstance(result, str):
            job = jobs[number]
            where = f"{job.cases[0].protocol}, {job.cases[0].condition.name}"
            failures.append(Failure(job.spec.label, where, result))
        else:
            results[number] = result
        progress(1)
    answers: list[JobResult] = []
    for number in sorted(results):
        answers += _answers(jobs[number], results[number]["labels"], bench.clips.truth)
    return Outcome(answers, failures, len(waiting))


def _results(
    bench: Bench, jobs: Sequence[Job], waiting: list[int], workers: int
) -> Iterator[tuple[int, Arrays | str]]:
    folder = bench.studio.cache.folder
    if workers == 1 or len(waiting) < 2:
        for number in waiting:
            yield number, _do(folder, bench.text, jobs[number])
        return
    # Not forked: a copy of a process with running threads can hang.
    spawned = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(waiting)), mp_context=spawned)
    try:
        # The longest first, so that no core runs one of them alone at the end.
        order = sorted(waiting, key=lambda number: -len(jobs[number].cases))
        futures = {pool.submit(_do, folder, bench.text, jobs[number]): number for number in order}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _do(folder: Path, text: NDArray[np.float32], job: Job) -> Arrays | str:
    """The labels of a job, concatenated; or the reason why it failed."""
    from threadpoolctl import threadpool_limits

    method = method_of(job.spec)
    labels = []
    try:
        # One thread: all cores run jobs, and sums must not depend on how they are split.
        with threadpool_limits(1):
            for case in job.cases:
                classes = np.arange(len(text)) if case.classes is None else case.classes
                E = _embedding(job.files[case.condition])[case.rows]
                fitted = method.fit(E, text[classes], _part(job.context, classes))
                if not case.tests:
                    labels.append(classes[fitted.labels])
                for test in case.tests:
                    rows = _embedding(job.files[test.condition])[test.rows]
                    labels.append(classes[fitted.predict(rows)])
    except (PrismError, ValueError, np.linalg.LinAlgError) as error:
        return str(error)
    arrays: Arrays = {"labels": np.concatenate(labels).astype(np.int16)}
    Cache(folder).save(ROOM, job.name, job.facts, arrays)
    return arrays


@lru_cache(maxsize=64)
def _embedding(path: Path) -> NDArray[np.float32]:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return np.asarray(file.get_tensor("embedding"), np.float32)


def _answers(job: Job, labels: Labels, truth: NDArray[np.int64]) -> Iterator[JobResult]:
    for case in job.cases:
        for test in case.tests or (case,):
            own, labels = np.split(labels, [len(test.rows)])
            yield JobResult(job.spec.label, case, test.condition, test.rows, own, truth[test.rows])


def _case_facts(case: Case, files: dict[Condition, Path]) -> list[str]:
    """The files are named by a hash of everything their content depends on."""
    parts = [files[case.condition].name, array_digest(case.rows)]
    if case.classes is not None:
        parts.append(array_digest(case.classes))
    for test in case.tests:
        parts += [files[test.condition].name, array_digest(test.rows)]
    return parts


def _context_facts(context: Context | None) -> list[str]:
    values = vars(context).values() if context else ()
    return [array_digest(value) for value in values if value is not None]


def _part(context: Context | None, classes: NDArray[np.int64]) -> Context | None:
    """The context of some of the classes."""
    if context is None:
        return None
    stacks = {"prompt_text": context.prompt_text, "noise_text": context.noise_text}
    parts = {name: stack[:, classes] for name, stack in stacks.items() if stack is not None}
    return replace(context, **parts)

"""Run a whole experiment: embed, run the methods, take PRISM apart, measure rank and cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.embeddings.studio import Progress
from prism_audio.bench.experiment.conditions import CLEAN, Condition
from prism_audio.bench.experiment.experiment import Spec
from prism_audio.bench.experiment.protocols import Case, cases
from prism_audio.bench.trials.ablation import ABLATION, sensitivity_specs
from prism_audio.bench.trials.cost import Cost, measure
from prism_audio.bench.trials.runner import Failure, Job, JobResult, plan, run
from prism_audio.bench.trials.spectrum import Energy, references, shift_energy
from prism_audio.bench.trials.summary import TransductiveSummary
from prism_audio.methods import METHODS
from prism_audio.methods.denoise import load_noisereduce

# Takes the name of a stage and its number of steps; returns the function that counts them.
Steps = Callable[[str, int], Progress]


class Work(NamedTuple):
    """A stage: how many of its results had to be computed; the others were in the cache."""

    stage: str
    computed: int
    needed: int
    seconds: float


@dataclass(frozen=True)
class Findings:
    """The results of an experiment."""

    bench: Bench  # the experiment and its data
    answers: list[JobResult]  # labels by every method under every protocol
    summary: TransductiveSummary  # scores of the transductive protocol
    kinds: dict[str, str]  # the role of each method in the comparison
    ablation: TransductiveSummary | None = None  # scores of PRISM's variants
    # Accuracy by parameter and value.
    sensitivity: dict[str, dict[float, float]] = field(default_factory=dict)
    # Spectra of what the noise does, and the spectra to compare them with.
    shifts: list[Energy] = field(default_factory=list)
    references: list[Energy] = field(default_factory=list)
    costs: dict[str, Cost] = field(default_factory=dict)  # times and sizes by method
    failures: list[Failure] = field(default_factory=list)  # jobs that failed
    work: tuple[Work, ...] = ()  # the stages, and what was computed in each


def embed(bench: Bench, steps: Steps) -> Work:
    """Make the embeddings that the cache lacks."""
    began = time.monotonic()
    conditions = bench.experiment.conditions()
    for front in bench.experiment.fronts:
        conditions += bench.experiment.typical(front)
    missing = [c for c in conditions if not bench.studio.path(c).is_file()]
    if any(condition.front == "noisereduce" for condition in missing):
        load_noisereduce()  # a missing package is said before hours of embedding, not after
    if missing:
        progress = steps("embedding clips", len(missing) * len(bench.clips))
        for condition in missing:
            bench.studio.embedding(condition, progress)
    return Work("embedding clips", len(missing), len(conditions), time.monotonic() - began)


def investigate(bench: Bench, steps: Steps, workers: int | None = None) -> Findings:
    """Run every method under every protocol, and the studies that the experiment names."""
    return _Study(bench, steps, workers).findings()


class _Study:
    """One run of an experiment; collects failures and work of its stages."""

    def __init__(self, bench: Bench, steps: Steps, workers: int | None) -> None:
        self.bench, self.steps, self.workers = bench, steps, workers
        self.failures: list[Failure] = []
        self.work: list[Work] = []

    def findings(self) -> Findings:
        experiment, bench = self.bench.experiment, self.bench
        jobs = plan(bench, experiment.methods, self._cases("transductive"))
        for front in experiment.fronts:
            treated = _transductive(bench, experiment.typical(front))
            jobs += plan(bench, experiment.focus_methods(), treated)
        for protocol in experiment.protocols:
            if protocol != "transductive":
                jobs += plan(bench, experiment.focus_methods(), self._cases(protocol))
        answers = self._run(jobs, "running methods")
        kinds = {spec.label: str(METHODS[spec.name].kind) for spec in experiment.methods}
        findings = Findings(bench, answers, self._summary(answers), kinds)
        if "ablation" in experiment.studies:
            findings = replace(findings, ablation=self._variants(ABLATION, "ablation"))
        if "sensitivity" in experiment.studies:
            findings = replace(findings, sensitivity=self._sensitivity())
        if "spectrum" in experiment.studies and (bench.pairs or self._has_pairs()):
            shifts, known = self._spectrum()
            findings = replace(findings, shifts=shifts, references=known)
        if "cost" in experiment.studies:
            findings = replace(findings, costs=self._costs())
        return replace(findings, failures=self.failures, work=tuple(self.work))

    def _cases(self, protocol: str) -> list[Case]:
        experiment = self.bench.experiment
        # Arrays need no mixing, so short lists are drawn in all of them.
        everywhere = protocol == "lists" and experiment.arrays
        some = experiment.conditions() if everywhere else experiment.typical()
        return cases(protocol, self.bench.clips, experiment.conditions(), some)

    def _run(self, jobs: Sequence[Job], stage: str) -> list[JobResult]:
        began = time.monotonic()
        outcome = run(self.bench, jobs, self.workers, self.steps(stage, len(jobs)))
        self.failures += outcome.failures
        self.work.append(Work(stage, outcome.computed, len(jobs), time.monotonic() - began))
        return outcome.answers

    def _summary(self, answers: Iterable[JobResult]) -> TransductiveSummary:
        bench = self.bench
        classes = len(bench.classes)
        return TransductiveSummary(answers, bench.clips.truth, bench.sources, classes)

    def _variants(self, specs: Sequence[Spec], stage: str) -> TransductiveSummary:
        """Each place once; without noise the clean clips."""
        typical = self.bench.experiment.typical()
        noisy = [condition for condition in typical if condition.background != CLEAN]
        jobs = plan(self.bench, specs, _transductive(self.bench, noisy or typical))
        return self._summary(self._run(jobs, stage))

    def _sensitivity(self) -> dict[str, dict[float, float]]:
        trials = sensitivity_specs()
        summary = self._variants([spec for _, _, spec in trials], "sensitivity")
        scores: dict[str, dict[float, float]] = {}
        for name, value, spec in trials:
            if spec.label in summary.methods:
                scores.setdefault(name, {})[value] = summary.mean(spec.label)
        return scores

    def _has_pairs(self) -> bool:
        experiment = self.bench.experiment
        return experiment.clean and bool(experiment.recipe.snrs)

    def _spectrum(self) -> tuple[list[Energy], list[Energy]]:
        experiment, rows = self.bench.experiment, self.bench.pairs
        if not rows:
            snr = min(experiment.recipe.snrs, key=abs)
            noisy = {place: Condition(place, snr) for place in experiment.places}
            conditions = {CLEAN: Condition(CLEAN, CLEAN), **noisy}
            rows = {name: self.bench.studio.embedding(c) for name, c in conditions.items()}
        progress = self.steps("singular values", len(rows))
        shifts = []
        for name in (name for name in rows if name != CLEAN):
            shifts.append(shift_energy(name, rows[CLEAN], rows[name]))
            progress(1)
        return shifts, references(rows[CLEAN], experiment.recipe.seed)

    def _costs(self) -> dict[str, Cost]:
        specs, began = self.bench.experiment.methods, time.monotonic()
        costs, measured = measure(self.bench, specs, self.steps("timing", len(specs)))
        self.work.append(Work("timing", measured, len(costs), time.monotonic() - began))
        return costs


def _transductive(bench: Bench, conditions: Sequence[Condition]) -> list[Case]:
    return cases("transductive", bench.clips, conditions, ())

"""The whole of an experiment, from sound to findings: embed, try, take apart, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from prism_audio.bench.ablation import ABLATION, sensitivity_specs
from prism_audio.bench.assemble import Bench
from prism_audio.bench.conditions import CLEAN, Condition
from prism_audio.bench.config import Spec
from prism_audio.bench.cost import Cost, measure
from prism_audio.bench.protocol import Case, cases
from prism_audio.bench.runner import Failure, Job, JobResult, Outcome, plan, run
from prism_audio.bench.spectrum import Energy, energy, references
from prism_audio.bench.summary import TransductiveSummary
from prism_audio.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable

# Given the name of a stage and how many steps it has; hears of every step through what it returns.
Steps = Callable[[str, int], Callable[[int], None]]


class Work(NamedTuple):
    """A stage: how many of its results had to be computed, the others being in the cache."""

    stage: str
    computed: int
    needed: int
    seconds: float


@dataclass(frozen=True)
class Findings:
    """What came out.

    Attributes
    ----------
    bench : Bench
        What was worked on.
    answers : list of JobResult
        Every method under every protocol.
    summary : TransductiveSummary
        The transductive ones, summed up.
    kinds : dict
        For each method what it stands for in the comparison.
    ablation : TransductiveSummary, optional
        PRISM taken apart.
    sensitivity : dict
        Accuracy by parameter and value.
    shifts, known : lists of Energy
        Spectra of what the noise does, and of what they are compared with.
    costs : dict
        Times and sizes by method.
    failures : list of Failure
        Methods that could not do a job.
    work : tuple of Work
        What was computed for it, and what was there before.
    """

    bench: Bench
    answers: list[JobResult]
    summary: TransductiveSummary
    kinds: dict[str, str]
    ablation: TransductiveSummary | None = None
    sensitivity: dict[str, dict[float, float]] = field(default_factory=dict)
    shifts: list[Energy] = field(default_factory=list)
    known: list[Energy] = field(default_factory=list)
    costs: dict[str, Cost] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    work: tuple[Work, ...] = ()


def embed(bench: Bench, steps: Steps) -> Work:
    """Make the embeddings that the cache lacks."""
    began = time.monotonic()
    wanted = bench.experiment.conditions()
    for front in bench.experiment.fronts:
        wanted += bench.experiment.typical(front)
    missing = [condition for condition in wanted if not bench.studio.path(condition).is_file()]
    if missing:
        told = steps("embedding clips", len(missing) * len(bench.data))
        for condition in missing:
            bench.studio.embedded(condition, told)
    return Work("embedding clips", len(missing), len(wanted), time.monotonic() - began)


def investigate(bench: Bench, steps: Steps, workers: int | None = None) -> Findings:
    """Try every method under every protocol, and look into what the experiment asks for."""
    experiment = bench.experiment
    jobs = plan(bench, experiment.methods, _cases(bench, "transductive"))
    for front in experiment.fronts:
        jobs += plan(bench, experiment.in_focus(), _transductive(bench, experiment.typical(front)))
    for protocol in experiment.protocols:
        if protocol != "transductive":
            jobs += plan(bench, experiment.in_focus(), _cases(bench, protocol))
    done, work = _run(bench, jobs, "trying methods", steps, workers)
    kinds, summary = _kinds(experiment.methods), _summary(bench, done.answers)
    found = Findings(bench, done.answers, summary, kinds, failures=done.failures, work=(work,))
    for name, look in (
        ("ablation", _ablation),
        ("sensitivity", _sensitivity),
        ("spectrum", _spectrum),
        ("cost", _cost),
    ):
        if name in experiment.studies:
            found = look(found, steps, workers)
    return found


def _ablation(found: Findings, steps: Steps, workers: int | None) -> Findings:
    jobs = plan(found.bench, ABLATION, _transductive(found.bench, _noisy(found.bench)))
    done, work = _run(found.bench, jobs, "taking PRISM apart", steps, workers)
    return replace(
        found,
        ablation=_summary(found.bench, done.answers),
        failures=found.failures + done.failures,
        work=(*found.work, work),
    )


def _sensitivity(found: Findings, steps: Steps, workers: int | None) -> Findings:
    tried = sensitivity_specs()
    specs = [spec for _, _, spec in tried]
    jobs = plan(found.bench, specs, _transductive(found.bench, _noisy(found.bench)))
    done, work = _run(found.bench, jobs, "turning parameters", steps, workers)
    summary = _summary(found.bench, done.answers)
    scores: dict[str, dict[float, float]] = {}
    for name, value, spec in tried:
        if spec.label in summary.methods:
            scores.setdefault(name, {})[value] = summary.mean(spec.label)
    return replace(
        found,
        sensitivity=scores,
        failures=found.failures + done.failures,
        work=(*found.work, work),
    )


def _spectrum(found: Findings, steps: Steps, workers: int | None) -> Findings:
    experiment, studio = found.bench.experiment, found.bench.studio
    if not experiment.clean or not experiment.recipe.snrs:
        return found
    snr = min(experiment.recipe.snrs, key=abs)
    told = steps("singular values", len(experiment.places) + 1)
    clean = studio.embedded(Condition(CLEAN, CLEAN)).embedding
    known = references(clean, experiment.recipe.seed)
    told(1)
    shifts = []
    for place in experiment.places:
        shifts.append(energy(place, studio.embedded(Condition(place, snr)).embedding - clean))
        told(1)
    return replace(found, shifts=shifts, known=known)


def _cost(found: Findings, steps: Steps, workers: int | None) -> Findings:
    specs, began = found.bench.experiment.methods, time.monotonic()
    costs, measured = measure(found.bench, specs, steps("timing", len(specs)))
    work = Work("timing", measured, len(costs), time.monotonic() - began)
    return replace(found, costs=costs, work=(*found.work, work))


def _run(
    bench: Bench, jobs: Sequence[Job], name: str, steps: Steps, workers: int | None
) -> tuple[Outcome, Work]:
    began = time.monotonic()
    done = run(bench, jobs, workers, steps(name, len(jobs)))
    return done, Work(name, done.computed, len(jobs), time.monotonic() - began)


def _cases(bench: Bench, protocol: str) -> list[Case]:
    experiment = bench.experiment
    return cases(protocol, bench.judged, experiment.conditions(), experiment.typical())


def _transductive(bench: Bench, conditions: Sequence[Condition]) -> list[Case]:
    return cases("transductive", bench.judged, conditions, ())


def _noisy(bench: Bench) -> list[Condition]:
    """Each place once; the clips as they are where there is no noise at all."""
    typical = bench.experiment.typical()
    return [condition for condition in typical if condition.background != CLEAN] or typical


def _summary(bench: Bench, answers: Iterable[JobResult]) -> TransductiveSummary:
    return TransductiveSummary(answers, bench.judged.truth, bench.sources, len(bench.data.classes))


def _kinds(specs: Sequence[Spec]) -> dict[str, str]:
    return {spec.label: str(METHODS[spec.name].kind) for spec in specs}

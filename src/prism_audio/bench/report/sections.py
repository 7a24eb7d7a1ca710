"""The sections of the report: sentences, tables and pictures, made from findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prism_audio.bench.experiment.conditions import CLEAN
from prism_audio.bench.report import figures, main_tables, maps, protocol_tables
from prism_audio.bench.report.claims import claims_table
from prism_audio.bench.report.headline import headline, made_by, setting
from prism_audio.bench.report.losses import losses
from prism_audio.bench.report.table import ReportTable, percent
from prism_audio.bench.trials.ablation import PRINTED, USUAL
from prism_audio.bench.trials.spectrum import RANK
from prism_audio.bench.trials.study import Findings
from prism_audio.bench.trials.summary import BASELINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BY_CLASS = ("prism_paper", "prism_car")
_AXES = {
    "few": "classes in the batch",
    "calibration": "clips to calibrate on",
    "batch": "clips in a batch",
}


@dataclass(frozen=True)
class Picture:
    """A figure with its file name and its caption."""

    name: str
    caption: str
    figure: Figure


# A paragraph, a list of lines, a table or a picture.
Part = str | list[str] | ReportTable | Picture


@dataclass(frozen=True)
class Section:
    """A heading and its parts, in order."""

    title: str
    parts: list[Part] = field(default_factory=list)


def sections(findings: Findings, folder: Path = Path("docs/results")) -> Iterator[Section]:
    """The whole report, as it will stand in a folder."""
    yield Section("Setting", [setting(findings), made_by(findings.bench.experiment, folder)])
    brackets = "In brackets are 95 % intervals of the paired differences."
    yield Section("In short", [headline(findings), brackets])
    yield Section("The paper's claims", [claims_table(findings)])
    yield _losses(findings)
    yield _comparison(findings)
    yield _classes(findings)
    parts = list(_protocols(findings))
    if parts:
        yield Section("Other ways to use it", parts)
    if findings.ablation is not None:
        yield Section("Ablation of PRISM", [main_tables.ablation_table(findings.ablation, PRINTED)])
    if findings.sensitivity:
        yield _sensitivity(findings)
    if findings.shifts:
        yield _spectrum(findings)
    if findings.costs:
        yield _cost(findings)
    if findings.failures:
        lines = [f"{f.method} ({f.where}): {f.reason}" for f in findings.failures]
        yield Section("What failed", [lines])


def _losses(findings: Findings) -> Section:
    bench, summary = findings.bench, findings.summary
    parts: list[Part] = []
    for method in dict.fromkeys((bench.experiment.ours, "prism_paper")):
        if method in summary.methods:
            told = losses(summary, findings.answers, method, bench.classes)
            parts += [f"`{method}`:", told]
    return Section("Where PRISM loses", parts)


def _comparison(findings: Findings) -> Section:
    experiment, summary, kinds = findings.bench.experiment, findings.summary, findings.kinds
    dataset, focus = experiment.dataset, experiment.focus
    everything = figures.main_figure(summary, kinds)
    parts: list[Part] = [
        main_tables.main_table(summary, experiment.ours, dataset, kinds),
        Picture("main", "All methods over all conditions.", everything),
    ]
    if experiment.arrays:
        parts.append(main_tables.space_table(summary, kinds))
        parts.append(main_tables.place_table(summary, focus, dataset))
    elif experiment.places:
        levels = figures.level_figure(summary, focus)
        parts += [
            main_tables.place_table(summary, focus, dataset),
            main_tables.level_table(summary, focus, dataset),
            Picture("levels", "Accuracy against SNR, mean over places.", levels),
        ]
        gain = figures.gain_figure(summary, focus)
        if gain is not None:
            parts.append(Picture("gain", "Gain over zero-shot in severe and moderate noise.", gain))
    if experiment.fronts:
        table = protocol_tables.front_table(findings.answers, focus, experiment.fronts)
        parts.append(table)
    return Section("The comparison", parts)


def _classes(findings: Findings) -> Section:
    summary, classes = findings.summary, findings.bench.classes
    ours = findings.bench.experiment.ours
    methods = [method for method in _BY_CLASS if method in summary.methods]
    caption = f"Change from zero-shot to {ours}, class by class and place by place, in points."
    picture = Picture("classes", caption, maps.class_map(summary, ours, classes))
    table = main_tables.class_table(summary, methods, ours, classes)
    return Section("Class by class", [picture, table])


def _protocols(findings: Findings) -> Iterator[Part]:
    experiment, answers = findings.bench.experiment, findings.answers
    focus = experiment.focus
    present = {answer.case.protocol for answer in answers}
    if "half" in present:
        sources = findings.bench.sources
        yield protocol_tables.half_table(answers, sources, focus, experiment.ours)
    if "cross" in present:
        yield protocol_tables.cross_table(answers, focus)
        yield from _cross_maps(findings)
    for protocol in ("few", "lists", "skewed", "stream", "calibration", "batch", "groups"):
        if protocol not in present:
            continue
        if protocol == "lists" and experiment.arrays:
            yield protocol_tables.list_table(answers, focus)
            continue
        yield protocol_tables.protocol_table(protocol, answers, focus)
        if protocol in _AXES:
            scores = protocol_tables.scores(protocol, answers)
            compiled = _compiled(findings) if protocol == "batch" else {}
            caption = f"Accuracy against {_AXES[protocol]}."
            if compiled:
                caption += " Dotted: a map compiled from half of the clips, on the other half."
            figure = figures.axis_figure(scores, focus, _AXES[protocol], compiled)
            yield Picture(protocol, caption, figure)


def _compiled(findings: Findings) -> dict[str, float]:
    """Accuracy of compiled maps on unseen noisy clips, to compare with batches of such clips."""
    noisy = [answer for answer in findings.answers if answer.tested.background != CLEAN]
    half = protocol_tables.scores("half", noisy)
    return {m: half[m][""] for m in (findings.bench.experiment.ours, "prism_paper") if m in half}


def _cross_maps(findings: Findings) -> Iterator[Picture]:
    answers = findings.answers
    _, base = protocol_tables.cross_matrix(answers, BASELINE)
    for method in dict.fromkeys((findings.bench.experiment.ours, "prism_paper")):
        places, matrix = protocol_tables.cross_matrix(answers, method)
        if places and base.shape == matrix.shape:
            caption = f"{method}: calibrated in one place, used in another; points above zero-shot."
            yield Picture(f"cross-{method}", caption, maps.cross_map(places, matrix - base, method))


def _sensitivity(findings: Findings) -> Section:
    baseline = (findings.ablation or findings.summary).mean(BASELINE)
    rows = [
        [
            figures.parameter_name(name),
            ", ".join(f"{value:g}: {percent(score)}" for value, score in by_value.items()),
            f"{USUAL[name]:g}",
            f"{100 * (max(by_value.values()) - min(by_value.values())):.1f}",
        ]
        for name, by_value in findings.sensitivity.items()
    ]
    header = ["parameter", "value: accuracy", "usual value", "spread in points"]
    caption = (
        "One parameter at a time, all else as printed; the ring is its usual value, the dotted line "
        "zero-shot."
    )
    note = (
        "Accuracy in percent, transductive, one condition in every place, of the algorithm as "
        "printed; gamma with CAR on, rho with soft deflation in place of CCVD. Usual values are the "
        "paper's, except rho, which it does not have."
    )
    figure = figures.sensitivity_figure(findings.sensitivity, baseline)
    table = ReportTable("Sensitivity of the algorithm as printed", header, rows, note)
    return Section("Sensitivity to parameters", [table, Picture("sensitivity", caption, figure)])


def _spectrum(findings: Findings) -> Section:
    rows = [
        [
            energy.name,
            percent(energy.within_rank),
            str(energy.rank_for_share),
            percent(energy.translation),
            percent(energy.affine),
        ]
        for energy in (*findings.shifts, *findings.references)
    ]
    header = ["matrix", f"energy in {RANK} directions, %", "directions for 90 %"]
    header += ["explained by its mean, %", "by an affine map, unseen clips, %"]
    ranks = [shift.rank_for_share for shift in findings.shifts]
    clean = min(energy.rank_for_share for energy in findings.references)
    verdict = (
        "is not" if min(ranks) >= clean else "is" if max(ranks) < clean else "is not everywhere"
    )
    note = (
        "Rows named after a place or a treatment are noisy less clean embeddings. The paper finds "
        "more than 90 % of the energy of the shift in 60 directions of LAION-CLAP. That the noise is "
        "special follows only if clean embeddings are flatter. Here the shift "
        f"{verdict} of lower rank than they are: 90 % of it takes {min(ranks)} to {max(ranks)} "
        f"directions, of theirs {clean}."
    )
    caption = "Singular-value energy of noisy less clean embeddings, and of clean ones."
    figure = figures.spectrum_figure(findings.shifts, findings.references)
    table = ReportTable("Singular-value energy", header, rows, note)
    return Section("Is the shift of low rank?", [table, Picture("spectrum", caption, figure)])


def _cost(findings: Findings) -> Section:
    caption = "Accuracy against the time of calibration and of one inference."
    focus = findings.bench.experiment.focus
    figure = figures.latency_figure(findings.summary, findings.costs, findings.kinds, focus)
    table = main_tables.cost_table(findings.costs, len(findings.bench.clips))
    return Section("Cost", [table, Picture("latency", caption, figure)])

"""Tables of the transductive protocol: all methods, by place, by SNR, by class; ablation; cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism_audio.bench.experiment.array_files import GIVEN, space_of
from prism_audio.bench.experiment.conditions import CLEAN, MIXED
from prism_audio.bench.report import paper
from prism_audio.bench.report.table import (
    Number,
    ReportTable,
    best_of,
    interval,
    percent,
    points,
    score_table,
)
from prism_audio.bench.trials.cost import Cost, machine
from prism_audio.bench.trials.summary import BASELINE, Level, TransductiveSummary, level_name


def main_table(
    summary: TransductiveSummary, ours: str, dataset: str, kinds: dict[str, str]
) -> ReportTable:
    """Every method: accuracy, macro-F1, the lead of ours, and the paper's number."""
    levels = [level for level in (MIXED, CLEAN) if level in summary.levels]
    reported = paper.MAIN.get(dataset, {})
    header = ["method", "kind", "accuracy", "macro-F1", *map(level_name, levels)]
    header += [f"{ours} is ahead by", *(["the paper's"] if reported else [])]
    rows, numbers = [], []
    for method in (name for name in kinds if name in summary.methods):
        own = [summary.mean(method), summary.f1(method)]
        own += [summary.mean(method, levels=[level]) for level in levels]
        numbers.append(own)
        ahead = "-" if method == ours else interval(summary.difference(ours, method))
        row = [method, kinds[method], *map(percent, own), ahead]
        if reported:
            row.append(f"{reported[method][0]:.1f}" if method in reported else "-")
        rows.append(row)
    note = (
        f"Transductive; mean over {_extent(summary)}, in percent. In brackets the 95 % "
        "interval of the difference: paired bootstrap over "
        "clips, those cut from one recording redrawn together; it says nothing about other places. "
        "Kinds: blind, in the paper's comparison and claims; oracle, knows the place; control, a "
        "simple explanation; rival, not in the paper. "
    )
    if reported:
        note += f"{paper.SETTING} {paper.DISAGREES.get(dataset, '')}".rstrip()
    if "oracle" in kinds.values() and CLEAN in summary.levels:
        note += " On clean clips oracles count as zero-shot, because there is no place to know."
    return ReportTable("All methods", header, rows, note, best_of(numbers, first_column=2))


def place_table(summary: TransductiveSummary, methods: Sequence[str], dataset: str) -> ReportTable:
    """Accuracy in each place, beside the paper's where it names the place."""
    levels: list[Level] = [MIXED] if MIXED in summary.levels else summary.levels
    scores, reported = {}, {}
    for method in methods:
        own = [summary.mean(method, places=[place], levels=levels) for place in summary.places]
        scores[method] = [*own, float(np.mean(own))]
        reported[method] = [paper.by_place(dataset, place, method) for place in summary.places]
    about: dict[Level, str] = {
        MIXED: "an SNR drawn for every clip",
        GIVEN: "each condition as it was given",
    }
    note = f"In percent, {about.get(levels[0], 'mean over levels')}."
    title = "By condition" if levels == [GIVEN] else "By place"
    return _beside(score_table(title, [*summary.places, "mean"], scores, note), reported)


def level_table(summary: TransductiveSummary, methods: Sequence[str], dataset: str) -> ReportTable:
    """Accuracy at each level of noise, beside the paper's where it reports any."""
    levels = summary.levels
    scores = {m: [summary.mean(m, levels=[level]) for level in levels] for m in methods}
    reported = {m: [paper.by_level(dataset, level, m) for level in levels] for m in methods}
    note = (
        f"In percent, mean over the places of this experiment ({', '.join(summary.places)}); "
        "the paper's SNR table is the mean over its ten."
    )
    table = score_table("By level of noise", list(map(level_name, levels)), scores, note)
    table = _beside(table, reported)
    if dataset == "us8k":
        return table
    note = f"{table.note} The paper reports SNR by SNR for UrbanSound8K alone."
    return replace(table, note=note)


def space_table(summary: TransductiveSummary, kinds: dict[str, str]) -> ReportTable:
    """Accuracy of every method, mean over the conditions of each space."""
    spaces: dict[str, list[str]] = {}
    for place in summary.places:
        spaces.setdefault(space_of(place), []).append(place)
    scores = {
        method: [summary.mean(method, places=places) for places in spaces.values()]
        for method in kinds
        if method in summary.methods
    }
    columns = [f"{space} ({len(places)})" for space, places in spaces.items()]
    note = "In percent, transductive, mean over the conditions of each space (their number in brackets)."
    return score_table("By space", columns, scores, note)


def class_table(
    summary: TransductiveSummary, methods: Sequence[str], ours: str, classes: Sequence[str]
) -> ReportTable:
    """Accuracy within each class, from the largest gain to the largest loss."""
    columns = list(dict.fromkeys((BASELINE, *methods, ours)))
    scores = {method: summary.class_scores(method) for method in columns}
    change = scores[ours] - scores[BASELINE]
    rows: list[list[str]] = []
    strong: set[tuple[int, int]] = set()
    for number in np.argsort(-change, kind="stable"):
        own = [float(scores[method][number]) for method in columns]
        if max(own) > min(own):
            strong |= {(len(rows), 1 + at) for at, value in enumerate(own) if value == max(own)}
        rows.append([classes[number], *map(percent, own), points(float(change[number]))])
    note = f"In percent, mean over places and noisy levels; the change is {ours} less zero-shot."
    return ReportTable("By class", ["class", *columns, "change"], rows, note, strong)


def ablation_table(summary: TransductiveSummary, printed: str) -> ReportTable:
    """Score of each variant, and its difference from the algorithm as printed."""
    rows = []
    for method in summary.methods:
        gap = "-" if method == printed else interval(summary.difference(method, printed))
        rows.append([method, percent(summary.mean(method)), percent(summary.f1(method)), gap])
    steps = ", ".join(f"{name} {gain:+.2f}" for name, gain in paper.ABLATION)
    note = (
        f"Transductive, mean over {len(summary.places)} places"
        f" ({', '.join(map(level_name, summary.levels))}), three rounds unless stated "
        f"otherwise. The paper's steps on UrbanSound8K, in points: {steps}."
    )
    header = ["variant", "accuracy", "macro-F1", "difference from as printed"]
    strong = best_of([[summary.mean(method)] for method in summary.methods])
    return ReportTable("Ablation", header, rows, note, strong)


def cost_table(costs: dict[str, Cost], clips: int) -> ReportTable:
    """Times and sizes, beside the paper's."""
    rows = []
    for method, cost in costs.items():
        theirs = paper.COST.get(method)
        rows.append(
            [
                method,
                f"{cost.calibrate_ms:.0f}",
                _small(cost.one_clip_ms),
                _small(cost.in_batch_ms),
                f"{cost.size:,}" if cost.size else "-",
                "yes" if cost.gradients else "no",
                f"{theirs[0]} / {theirs[1]}" if theirs else "-",
            ]
        )
    header = ["method", "calibration ms", "one clip ms", "in a batch, ms a clip", "numbers kept"]
    header += ["gradients", "paper: calibration / inference ms"]
    note = (
        f"{clips} clips, one core's own time ({machine()}), best of several. Numbers kept are what "
        "inference needs. The encoder is not in these times and costs far more than any inference "
        "here. The paper's times are from a Xeon and an A100."
    )
    return ReportTable("Cost", header, rows, note)


def _extent(summary: TransductiveSummary) -> str:
    if summary.levels == [GIVEN]:
        return f"{len(summary.places)} conditions"
    return f"{len(summary.places)} places x {len(summary.levels)} levels of noise"


def _small(milliseconds: float) -> str:
    return "-" if not np.isfinite(milliseconds) else f"{milliseconds:.2g}"


def _beside(table: ReportTable, reported: dict[str, list[Number]]) -> ReportTable:
    """The table with the paper's numbers in brackets, where there are any."""
    if all(number is None for numbers in reported.values() for number in numbers):
        return table
    rows = [list(row) for row in table.rows]
    for row in rows:
        for column, number in enumerate(reported[row[0]], start=1):
            row[column] += "" if number is None else f" ({number:.1f})"
    note = f"{table.note} In brackets the paper's number for that cell. {paper.SETTING}"
    return replace(table, rows=rows, note=note)

"""The tables of the report that come from the transductive answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism_audio.bench import paper
from prism_audio.bench.conditions import CLEAN, MIXED
from prism_audio.bench.cost import Cost, machine
from prism_audio.bench.report_table import ReportTable, best_of, interval, percent, points
from prism_audio.bench.summary import BASELINE, Level, TransductiveSummary, level_name


def main_table(
    summary: TransductiveSummary, ours: str, dataset: str, kinds: dict[str, str]
) -> ReportTable:
    """Every method: accuracy, macro-F1, what is ahead of what, and the paper's number."""
    shown = [level for level in (MIXED, CLEAN) if level in summary.levels]
    theirs = paper.MAIN.get(dataset, {})
    header = ["method", "kind", "accuracy", "macro-F1", *(level_name(level) for level in shown)]
    header += [f"{ours} is ahead by", "the paper's"]
    rows, numbers = [], []
    for method in (name for name in kinds if name in summary.methods):
        own = [summary.mean(method), summary.f1(method)]
        own += [summary.mean(method, levels=[level]) for level in shown]
        numbers.append(own)
        ahead = "-"
        if method != ours:
            ahead = interval(summary.difference(ours, method))
        reported = theirs.get(method)
        cells = [method, kinds.get(method, ""), *map(percent, own), ahead]
        rows.append([*cells, f"{reported[0]:.1f}" if reported else "-"])
    note = (
        f"Transductive; mean over {len(summary.places)} places x {len(summary.levels)} levels of "
        "noise, in percent. In brackets the 95 % interval of the difference: paired bootstrap over "
        "clips, those cut from one recording redrawn together; it says nothing about other places. "
        "Kinds: blind, of the paper's comparison and claims; oracle, told the place; control, a simple "
        "explanation; rival, left out by the paper. "
    )
    if theirs:
        note += f"{paper.SETTING} {paper.DISAGREES.get(dataset, '')}".rstrip()
    if any(kind == "oracle" for kind in kinds.values()) and CLEAN in summary.levels:
        note += " Oracles count as zero-shot on clean clips, where there is nothing to tell them."
    strong = best_of(list(zip(*numbers, strict=True)), first_column=2)
    return ReportTable("All methods", header, rows, note, strong)


def place_table(summary: TransductiveSummary, methods: Sequence[str], dataset: str) -> ReportTable:
    """Accuracy in each place, beside the paper's where it names the place."""
    level: list[Level] = [MIXED] if MIXED in summary.levels else summary.levels
    rows, numbers = [], []
    for method in methods:
        own = [summary.mean(method, places=[place], levels=level) for place in summary.places]
        own.append(float(np.mean(own)))
        reported = [paper.by_place(dataset, place, method) for place in summary.places]
        numbers.append(own)
        rows.append([method, *_beside(own, [*reported, None])])
    note = f"In percent, {'an SNR drawn for every clip' if MIXED in level else 'mean over levels'}."
    note += _beside_note(rows)
    header = ["method", *summary.places, "mean"]
    return ReportTable("By place", header, rows, note, best_of(list(zip(*numbers, strict=True))))


def level_table(summary: TransductiveSummary, methods: Sequence[str], dataset: str) -> ReportTable:
    """Accuracy at each level of noise, beside the paper's where it reports any."""
    rows, numbers = [], []
    for method in methods:
        own = [summary.mean(method, levels=[level]) for level in summary.levels]
        reported = [paper.by_level(dataset, level, method) for level in summary.levels]
        numbers.append(own)
        rows.append([method, *_beside(own, reported)])
    header = ["method", *(level_name(level) for level in summary.levels)]
    note = "In percent, mean over places." + _beside_note(rows)
    if dataset not in ("us8k",):
        note += " The paper reports SNR by SNR for UrbanSound8K alone."
    strong = best_of(list(zip(*numbers, strict=True)))
    return ReportTable("By level of noise", header, rows, note, strong)


def class_table(
    summary: TransductiveSummary, methods: Sequence[str], ours: str, classes: Sequence[str]
) -> ReportTable:
    """Accuracy within each class, from the one that gains most to the one that loses most."""
    columns = list(dict.fromkeys((BASELINE, *methods, ours)))
    scores = {method: summary.class_scores(method) for method in columns}
    change = scores[ours] - scores[BASELINE]
    rows, numbers = [], []
    for number in np.argsort(-change, kind="stable"):
        own = [float(scores[method][number]) for method in columns]
        numbers.append(own)
        rows.append([classes[number], *map(percent, own), points(float(change[number]))])
    strong = {
        (row, 1 + column)
        for row, own in enumerate(numbers)
        for column, value in enumerate(own)
        if value == max(own) > min(own)
    }
    note = f"In percent, mean over places and noisy levels; the change is {ours} less zero-shot."
    return ReportTable("By class", ["class", *columns, "change"], rows, note, strong)


def ablation_table(summary: TransductiveSummary, printed: str) -> ReportTable:
    """What each component adds; differences to the algorithm as printed, with intervals."""
    rows = []
    for method in summary.methods:
        apart = "-"
        if method != printed:
            apart = interval(summary.difference(method, printed))
        rows.append([method, percent(summary.mean(method)), percent(summary.f1(method)), apart])
    claims = ", ".join(f"{name} {gain:+.2f}" for name, gain in paper.ABLATION)
    note = (
        f"Transductive, mean over {len(summary.places)} places"
        f" ({', '.join(level_name(level) for level in summary.levels)}), three rounds unless said "
        f"otherwise. The paper's steps on UrbanSound8K, in points: {claims}."
    )
    header = ["variant", "accuracy", "macro-F1", "difference from as printed"]
    strong = best_of([[summary.mean(method) for method in summary.methods]])
    return ReportTable("Ablation", header, rows, note, strong)


def claims(summary: TransductiveSummary, printed: str) -> list[str]:
    """What the ablation says to the paper's claims: for each the variant that should be worse."""
    told = []
    for claim, variant in paper.CLAIMS.items():
        if variant in summary.methods:
            gap = summary.difference(variant, printed)
            verdict = "it does" if gap.high < 0 else "not seen" if gap.low <= 0 else "the opposite"
            told.append(f"{claim}: {verdict} here; '{variant}' changes {interval(gap)} points.")
    return told


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
        "serving needs. The encoder is not in these times and costs far more than any inference here. "
        "The paper's times are from a Xeon and an A100."
    )
    return ReportTable("Cost", header, rows, note)


def _small(milliseconds: float) -> str:
    return "-" if not np.isfinite(milliseconds) else f"{milliseconds:.2g}"


def _beside(own: Sequence[float], reported: Sequence[float | None]) -> list[str]:
    return [
        percent(value) if theirs is None else f"{percent(value)} ({theirs:.1f})"
        for value, theirs in zip(own, reported, strict=True)
    ]


def _beside_note(rows: Sequence[Sequence[str]]) -> str:
    if any("(" in cell for row in rows for cell in row[1:]):
        return f" In brackets the paper's number for that cell. {paper.SETTING}"
    return ""

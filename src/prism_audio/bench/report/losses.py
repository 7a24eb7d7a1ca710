"""Sentences with numbers on where the method under test loses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism_audio.bench.report.protocol_tables import (
    MOVES,
    cross_matrix,
    cross_parts,
    ordered,
    scores,
)
from prism_audio.bench.report.table import interval, percent, points
from prism_audio.bench.trials.runner import JobResult
from prism_audio.bench.trials.summary import BASELINE, TransductiveSummary, level_name

_PROTOCOLS = ("half", "few", "lists", "skewed", "stream", "calibration", "batch")
_WORST_CLASSES = 6
# Smaller differences than this are not worth a line.
_TOLERANCE = 0.005


def losses(
    summary: TransductiveSummary,
    answers: Sequence[JobResult],
    ours: str,
    classes: Sequence[str],
) -> list[str]:
    """One sentence for each finding; at least one."""
    return [
        *_rivals(summary, ours),
        *_f1(summary, ours),
        *_cells(summary, ours),
        *_classes(summary, ours, classes),
        *_protocols(answers, ours),
        *_places(answers, ours),
    ]


def _rivals(summary: TransductiveSummary, ours: str) -> list[str]:
    ahead = [m for m in summary.methods if m != ours and summary.mean(m) > summary.mean(ours)]
    lines = []
    for method in sorted(ahead, key=summary.mean, reverse=True):
        gap = summary.difference(method, ours)
        doubt = "" if gap.low > 0 else "; the interval includes zero"
        lines.append(
            f"{method} is better than {ours} over all conditions, by {interval(gap)} points{doubt}."
        )
    if not lines:
        second = max((m for m in summary.methods if m != ours), key=summary.mean)
        gap = summary.difference(ours, second)
        doubt = "" if gap.low > 0 else ", and the interval includes zero"
        lines.append(
            f"Over all conditions nothing is ahead of {ours}; over the next, {second}, it is ahead by "
            f"{interval(gap)} points{doubt}."
        )
    return lines


def _f1(summary: TransductiveSummary, ours: str) -> list[str]:
    """Macro-F1 also counts classes that are predicted never or too often."""
    own = summary.f1(ours)
    ahead = {method: summary.f1(method) for method in summary.methods if summary.f1(method) > own}
    if not ahead:
        return [f"By macro-F1, too, nothing is ahead of {ours}."]
    better = "; ".join(
        f"{method} {percent(ahead[method])}" for method in sorted(ahead, key=lambda m: -ahead[m])
    )
    return [f"By macro-F1 {ours} ({percent(own)}) is behind {better}."]


def _cells(summary: TransductiveSummary, ours: str) -> list[str]:
    cells = [(place, level) for place in summary.places for level in summary.levels]
    change = {cell: summary.score(ours, *cell) - summary.score(BASELINE, *cell) for cell in cells}
    behind = sorted((cell for cell in cells if change[cell] < 0), key=lambda cell: change[cell])
    lines = []
    if behind:
        shown = ", ".join(
            f"{place} {level_name(level)} ({points(change[place, level])})"
            for place, level in behind[:4]
        )
        lines.append(f"It is below zero-shot in {len(behind)} of {len(cells)} conditions: {shown}.")
    else:
        least = min(cells, key=lambda cell: change[cell])
        lines.append(
            f"It is below zero-shot in none of the {len(cells)} conditions; it gains least in "
            f"{least[0]} at {level_name(least[1])} ({points(change[least])})."
        )
    beaten: dict[str, int] = {}
    for cell in cells:
        scores_here = {method: summary.score(method, *cell) for method in summary.methods}
        best = max(scores_here, key=scores_here.__getitem__)
        if scores_here[best] > scores_here[ours]:
            beaten[best] = beaten.get(best, 0) + 1
    if beaten:
        winners = "; ".join(f"{method} in {count}" for method, count in sorted(beaten.items()))
        total = sum(beaten.values())
        lines.append(f"Another method is best in {total} of {len(cells)} conditions: {winners}.")
    return lines


def _classes(summary: TransductiveSummary, ours: str, classes: Sequence[str]) -> list[str]:
    before, after = summary.class_scores(BASELINE), summary.class_scores(ours)
    change = after - before
    order = np.argsort(change, kind="stable")
    losing = int(np.sum(change < 0))
    shown = ", ".join(
        f"{classes[c]} ({percent(before[c])} to {percent(after[c])})"
        for c in order[:_WORST_CLASSES]
        if change[c] < 0
    )
    if not losing:
        return ["No class loses."]
    return [f"{losing} of {len(classes)} classes lose against zero-shot, most of all {shown}."]


def _protocols(answers: Sequence[JobResult], ours: str) -> list[str]:
    lines = []
    for protocol in _PROTOCOLS:
        table = scores(protocol, answers)
        if ours not in table or BASELINE not in table:
            continue
        settings = ordered(set(table[ours]))
        worse = [
            f"{_at(setting)}({percent(table[ours][setting])} against "
            f"{percent(table[BASELINE][setting])})"
            for setting in settings
            if table[ours][setting] < table[BASELINE][setting] - _TOLERANCE
        ]
        if worse:
            lines.append(f"Protocol '{protocol}': it is below zero-shot {', '.join(worse)}.")
        ahead = [
            f"{best} {_at(setting)}({percent(table[best][setting])} against "
            f"{percent(table[ours][setting])})"
            for setting in settings
            for best in [max(table, key=lambda method: table[method].get(setting, 0.0))]
            if table[best][setting] > table[ours][setting] + _TOLERANCE
        ]
        if ahead:
            lines.append(f"Protocol '{protocol}': the best is another method, {'; '.join(ahead)}.")
    return lines


def _at(setting: str) -> str:
    return f"at {setting} " if setting.isdigit() else f"{setting} " if setting else ""


def _places(answers: Sequence[JobResult], ours: str) -> list[str]:
    places, matrix = cross_matrix(answers, ours)
    base, reference = cross_matrix(answers, BASELINE)
    if not places or base != places:
        return []
    change = matrix - reference
    worse = [
        f"{places[here]} to {places[there]} ({points(change[here, there])})"
        for here, there in np.argwhere(change < -_TOLERANCE)
        if here != there
    ]
    lines = (
        [f"Moved to another place it falls below zero-shot: {', '.join(worse)}."] if worse else []
    )
    parts = {
        method: cross_parts(places, cross_matrix(answers, method)[1])
        for method in dict.fromkeys(a.method for a in answers if a.case.protocol == "cross")
    }
    for number, move in enumerate(MOVES):
        best = max(parts, key=lambda method: parts[method][number])
        if parts[best][number] > parts[ours][number] + _TOLERANCE:
            lines.append(
                f"Protocol 'cross', {move}: the best is another method, {best} "
                f"({percent(parts[best][number])} against {percent(parts[ours][number])})."
            )
    return lines

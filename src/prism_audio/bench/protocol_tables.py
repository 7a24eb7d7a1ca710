"""The tables of the protocols beside the transductive one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.conditions import CLEAN
from prism_audio.bench.protocol import STREAMS
from prism_audio.bench.report_table import ReportTable, best_of, interval, percent
from prism_audio.bench.runner import JobResult
from prism_audio.bench.scores import Interval, accuracy, paired_bootstrap

Truth = NDArray[np.int64]

# From where a calibration is taken to where, as the cross table has it.
MOVES = ("same place", "another place", "noisy to clean", "clean to noisy")

_ABOUT = {
    "half": (
        "Adapted to one half, judged on the other",
        "Clips that were not there at calibration, as after deployment; each half is judged once.",
    ),
    "few": (
        "Few classes in the batch",
        "The batch holds clips of so many classes only, while all prototypes stay on offer. All clips "
        "of those classes are the batch; five draws in every place.",
    ),
    "skewed": (
        "Uneven classes",
        "Transductive; the class of rank r keeps one in r of its clips, so a few classes make up most "
        "of the batch. Methods that hold classes to be equally frequent, as benchmarks have them, "
        "show it here.",
    ),
    "stream": (
        "Correlated streams",
        "Adapted to the first quarter of the stream, judged on the rest. In bursts, eight clips of a "
        "class follow each other; class by class, the first quarter has seen a quarter of the classes.",
    ),
    "calibration": (
        "Clips to calibrate on",
        "Judged on the other half of the clips.",
    ),
    "batch": (
        "Clips in a batch",
        "Adapted to each batch for itself, judged on the same clips. A compiled map needs no batch "
        "at inference: the dotted lines of the picture hold for batches of any size.",
    ),
    "groups": (
        "By recording device",
        "Adapted to the clips of each device for itself, judged on the same clips.",
    ),
}


def half_table(
    answers: Sequence[JobResult], truth: Truth, sources: Truth, methods: Sequence[str], ours: str
) -> ReportTable:
    """Mean accuracy on clips that were not there at calibration, and how far ours is ahead."""
    plain = protocol_table("half", answers, truth, methods)
    rows = [
        [*row, "-" if row[0] == ours else interval(ahead(answers, truth, sources, ours, row[0]))]
        for row in plain.rows
    ]
    note = f"{plain.note} In brackets the 95 % interval, as in the main table."
    return ReportTable(
        plain.title, [*plain.header, f"{ours} is ahead by"], rows, note, plain.strong
    )


def ahead(
    answers: Sequence[JobResult], truth: Truth, sources: Truth, one: str, other: str
) -> Interval:
    """How far one method is ahead of another under ``half``, which judges every clip as often."""
    right = {method: np.zeros(len(truth)) for method in (one, other)}
    times = np.zeros(len(truth))
    for answer in answers:
        if answer.case.protocol == "half" and answer.method in right:
            right[answer.method][answer.rows] += answer.given == truth[answer.rows]
            times[answer.rows] += answer.method == one
    return paired_bootstrap((right[one] - right[other]) / times, sources)


def protocol_table(
    protocol: str, answers: Sequence[JobResult], truth: Truth, methods: Sequence[str]
) -> ReportTable:
    """Mean accuracy of each method in each setting of a protocol."""
    title, about = _ABOUT[protocol]
    found = scores(protocol, answers, truth)
    settings = ordered({setting for by_setting in found.values() for setting in by_setting})
    shown = [method for method in methods if method in found]
    numbers = [[found[method].get(setting) for setting in settings] for method in shown]
    rows = [[method, *map(percent, own)] for method, own in zip(shown, numbers, strict=True)]
    header = ["method", *(setting or "accuracy" for setting in settings)]
    strong = best_of(list(zip(*numbers, strict=True))) if numbers else set()
    tested = {answer.tested.background for answer in answers if answer.case.protocol == protocol}
    over = "the places and of clean clips" if {CLEAN} < tested else "the places"
    return ReportTable(title, header, rows, f"In percent, mean of {over}. {about}", strong)


def scores(
    protocol: str, answers: Sequence[JobResult], truth: Truth
) -> dict[str, dict[str, float]]:
    """Mean accuracy by method and setting, over places and draws."""
    kept: dict[str, dict[str, list[float]]] = {}
    for answer in answers:
        if answer.case.protocol == protocol:
            value = accuracy(truth[answer.rows], answer.given)
            kept.setdefault(answer.method, {}).setdefault(answer.case.setting, []).append(value)
    return {
        method: {setting: float(np.mean(values)) for setting, values in by_setting.items()}
        for method, by_setting in kept.items()
    }


def ordered(settings: set[str]) -> list[str]:
    """Numbers by size, streams from easy to hard, names by the alphabet."""
    if settings <= set(STREAMS):
        return [kind for kind in STREAMS if kind in settings]
    if all(setting.isdigit() for setting in settings):
        return sorted(settings, key=int)
    return sorted(settings)


def cross_matrix(
    answers: Sequence[JobResult], truth: Truth, method: str
) -> tuple[list[str], NDArray[np.float64]]:
    """Places, and accuracy (here, there): calibrated here, judged there."""
    cells: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        if answer.case.protocol == "cross" and answer.method == method:
            pair = answer.case.condition.background, answer.tested.background
            cells.setdefault(pair, []).append(accuracy(truth[answer.rows], answer.given))
    places = sorted({here for here, _ in cells}, key=lambda place: (place == CLEAN, place))
    return places, np.array(
        [[np.mean(cells.get((here, there), [np.nan])) for there in places] for here in places]
    )


def cross_table(answers: Sequence[JobResult], truth: Truth, methods: Sequence[str]) -> ReportTable:
    """Each method where it was calibrated, elsewhere, and between noise and clean."""
    header = ["method", *MOVES]
    rows, numbers = [], []
    for method in methods:
        places, matrix = cross_matrix(answers, truth, method)
        if not places:
            continue
        own = cross_parts(places, matrix)
        numbers.append(own)
        rows.append([method, *map(percent, own)])
    note = (
        "In percent: calibrated on one half of the clips in one place, judged on the other half in "
        "another. 'Same place' leaves clean clips out."
    )
    strong = best_of(list(zip(*numbers, strict=True))) if numbers else set()
    return ReportTable("Calibrated in one place, used in another", header, rows, note, strong)


def front_table(
    answers: Sequence[JobResult], truth: Truth, methods: Sequence[str], fronts: Sequence[str]
) -> ReportTable:
    """Methods on sound as it is, and on sound that was treated before the encoder heard it."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for answer in answers:
        if answer.case.protocol == "transductive":
            row = found.setdefault((answer.method, answer.tested.front), {})
            row[answer.tested.name.removesuffix(f"_{answer.tested.front}")] = accuracy(
                truth[answer.rows], answer.given
            )
    treated = {name for (_, front), row in found.items() if front for name in row}
    columns = sorted(treated, key=lambda name: (name == CLEAN, name))
    rows, numbers = [], []
    for method in methods:
        for front in ("", *fronts):
            if (method, front) not in found:
                continue
            own: list[float | None] = [found[method, front].get(name) for name in columns]
            noisy = [value for name, value in zip(columns, own, strict=True) if name != CLEAN]
            own.append(float(np.mean([value for value in noisy if value is not None])))
            numbers.append(own)
            rows.append([f"{method} after {front}" if front else method, *map(percent, own)])
    header = ["method", *(name.removesuffix("_mixed") for name in columns), "mean of the noisy"]
    note = (
        "In percent, transductive. The treatment is blind, with its package's defaults: it sees one "
        "recording at a time and takes what lasts for noise."
    )
    strong = best_of(list(zip(*numbers, strict=True))) if numbers else set()
    return ReportTable("Denoise first", header, rows, note, strong)


def cross_parts(places: list[str], matrix: NDArray[np.float64]) -> list[float]:
    """Mean accuracy of each of :data:`MOVES`; not a number where there is none."""
    noisy = np.array([place != CLEAN for place in places])
    both = np.outer(noisy, noisy)
    same = np.eye(len(places), dtype=bool)
    masks = (both & same, both & ~same, np.outer(noisy, ~noisy), np.outer(~noisy, noisy))
    return [float(np.mean(matrix[mask])) if mask.any() else float("nan") for mask in masks]

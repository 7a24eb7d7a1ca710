"""Tables of the other protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism_audio.bench.experiment.array_files import space_of
from prism_audio.bench.experiment.conditions import CLEAN
from prism_audio.bench.experiment.protocols import STREAMS, Rows
from prism_audio.bench.report.table import Number, ReportTable, interval, score_table
from prism_audio.bench.trials.runner import JobResult
from prism_audio.bench.trials.scores import Interval, paired_bootstrap
from prism_audio.io.types import Float64

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
    "lists": (
        "Short lists of labels",
        "A random list of so many labels, and the clips of those classes; no other label is on offer. "
        "Three draws in every condition.",
    ),
    "skewed": (
        "Uneven classes",
        "Transductive; the class of rank r keeps one in r of its clips, so a few classes make up most "
        "of the batch. Methods that assume equally frequent classes lose here.",
    ),
    "stream": (
        "Correlated streams",
        "Adapted to the first quarter of the stream, judged on the rest. In bursts, eight clips of a "
        "class follow each other; class by class, the first quarter has a quarter of the classes.",
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
    answers: Sequence[JobResult], sources: Rows, methods: Sequence[str], ours: str
) -> ReportTable:
    """Mean accuracy on clips that were not there at calibration, and the lead of ours."""
    plain = protocol_table("half", answers, methods)
    rows = [
        [*row, "-" if row[0] == ours else interval(lead(answers, sources, ours, row[0]))]
        for row in plain.rows
    ]
    note = f"{plain.note} In brackets the 95 % interval, as in the main table."
    return replace(plain, header=[*plain.header, f"{ours} is ahead by"], rows=rows, note=note)


def lead(answers: Sequence[JobResult], sources: Rows, one: str, other: str) -> Interval:
    """The lead of one method over another under ``half``, which judges every clip equally often."""
    right = {method: np.zeros(len(sources)) for method in (one, other)}
    times = np.zeros(len(sources))
    for answer in answers:
        if answer.case.protocol == "half" and answer.method in right:
            right[answer.method][answer.rows] += answer.labels == answer.truth
            times[answer.rows] += answer.method == one
    return paired_bootstrap((right[one] - right[other]) / times, sources)


def protocol_table(
    protocol: str, answers: Sequence[JobResult], methods: Sequence[str]
) -> ReportTable:
    """Mean accuracy of each method in each setting of a protocol."""
    title, about = _ABOUT[protocol]
    by_method = scores(protocol, answers)
    settings = ordered({setting for by_setting in by_method.values() for setting in by_setting})
    rows: dict[str, list[Number]] = {
        m: [by_method[m].get(setting) for setting in settings] for m in methods if m in by_method
    }
    tested = {answer.tested.background for answer in answers if answer.case.protocol == protocol}
    over = "the places and of clean clips" if {CLEAN} < tested else "the places"
    columns = [setting or "accuracy" for setting in settings]
    return score_table(title, columns, rows, f"In percent, mean of {over}. {about}")


def list_table(answers: Sequence[JobResult], methods: Sequence[str]) -> ReportTable:
    """Short lists of labels, for each space of an experiment on arrays."""
    spaces = dict.fromkeys(
        space_of(answer.tested.background) for answer in answers if answer.case.protocol == "lists"
    )
    rows: dict[str, list[Number]] = {method: [] for method in methods}
    columns = []
    for space in spaces:
        own = [answer for answer in answers if space_of(answer.tested.background) == space]
        by_method = scores("lists", own)
        for setting in sorted(next(iter(by_method.values())), key=int, reverse=True):
            columns.append(f"{space}, {setting} labels")
            for method in methods:
                rows[method].append(by_method.get(method, {}).get(setting))
    title, about = _ABOUT["lists"]
    return score_table(title, columns, rows, f"In percent, mean over conditions and draws. {about}")


def scores(protocol: str, answers: Sequence[JobResult]) -> dict[str, dict[str, float]]:
    """Mean accuracy by method and setting, over places and draws."""
    values: dict[str, dict[str, list[float]]] = {}
    for answer in answers:
        if answer.case.protocol == protocol:
            by_setting = values.setdefault(answer.method, {})
            by_setting.setdefault(answer.case.setting, []).append(answer.accuracy)
    return {
        method: {setting: float(np.mean(own)) for setting, own in by_setting.items()}
        for method, by_setting in values.items()
    }


def ordered(settings: set[str]) -> list[str]:
    """Numbers by size, streams from easy to hard, names by the alphabet."""
    if settings <= set(STREAMS):
        return [kind for kind in STREAMS if kind in settings]
    if all(setting.isdigit() for setting in settings):
        return sorted(settings, key=int)
    return sorted(settings)


def cross_matrix(answers: Sequence[JobResult], method: str) -> tuple[list[str], Float64]:
    """Places, and accuracy (here, there): calibrated here, judged there."""
    cells: dict[tuple[str, str], list[float]] = {}
    for answer in answers:
        if answer.case.protocol == "cross" and answer.method == method:
            pair = answer.case.condition.background, answer.tested.background
            cells.setdefault(pair, []).append(answer.accuracy)
    places = sorted({here for here, _ in cells}, key=lambda place: (place == CLEAN, place))
    return places, np.array(
        [[np.mean(cells.get((here, there), [np.nan])) for there in places] for here in places]
    )


def cross_parts(places: list[str], matrix: Float64) -> list[float]:
    """Mean accuracy of each of :data:`MOVES`; NaN where there is none."""
    noisy = np.array([place != CLEAN for place in places])
    both = np.outer(noisy, noisy)
    same = np.eye(len(places), dtype=bool)
    masks = (both & same, both & ~same, np.outer(noisy, ~noisy), np.outer(~noisy, noisy))
    return [float(np.mean(matrix[mask])) if mask.any() else float("nan") for mask in masks]


def cross_table(answers: Sequence[JobResult], methods: Sequence[str]) -> ReportTable:
    """Each method where it was calibrated, elsewhere, and between noise and clean."""
    rows = {}
    for method in methods:
        places, matrix = cross_matrix(answers, method)
        if places:
            rows[method] = cross_parts(places, matrix)
    note = (
        "In percent: calibrated on one half of the clips in one place, judged on the other half in "
        "another. 'Same place' leaves clean clips out."
    )
    return score_table("Calibrated in one place, used in another", MOVES, rows, note)


def front_table(
    answers: Sequence[JobResult], methods: Sequence[str], fronts: Sequence[str]
) -> ReportTable:
    """Methods on the sound itself, and on sound that was treated before the encoder."""
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for answer in answers:
        if answer.case.protocol == "transductive":
            front = answer.tested.front
            name = answer.tested.name.removesuffix(f"_{front}")
            cells.setdefault((answer.method, front), {})[name] = answer.accuracy
    names = {name for (_, front), row in cells.items() if front for name in row}
    columns = sorted(names, key=lambda name: (name == CLEAN, name))
    rows: dict[str, list[Number]] = {}
    for method in methods:
        for front in ("", *fronts):
            by_name = cells.get((method, front), {})
            if by_name:
                noisy = [by_name[name] for name in columns if name != CLEAN and name in by_name]
                own = [by_name.get(name) for name in columns]
                label = f"{method} after {front}" if front else method
                rows[label] = [*own, float(np.mean(noisy))]
    header = [*(name.removesuffix("_mixed") for name in columns), "mean of the noisy"]
    note = (
        "In percent, transductive. The treatment is blind, with its package's defaults: it sees one "
        "recording at a time and takes steady sound for noise."
    )
    return score_table("Denoise first", header, rows, note)

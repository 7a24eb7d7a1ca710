"""The tables of ``benchmarks/guard.py`` in Markdown, and whether each floor holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from guard_data import CHOSEN_ON, background

FLOOR, MARGIN = 1.0, 0.3
ENOUGH = ("512", "1000", "2000")
Record = dict[str, Any]
# (cell, condition, method) -> mean over seeds
Means = dict[tuple[str, str, str], float]

TITLES = {
    "few": "Few of the classes in the batch, deployed on all",
    "streams": "Correlated streams",
    "foreign": "Foreign sounds in the batch",
    "lists": "Other lists of labels, 20 clips a label unless said otherwise",
}


def tables(records: list[Record]) -> str:
    """All tables that the records allow."""
    studies: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        studies[record["study"]].append(record)
    # Transductive on all clips is the last row of the calibration sizes.
    whole = [{**r, "cell": "2000"} for r in studies["transductive"]]
    parts = []
    if studies["sizes"]:
        parts.append(_sizes(means(studies["sizes"] + whole)))
    parts += [_floor(TITLES[name], means(studies[name])) for name in TITLES if studies[name]]
    if studies["transductive"] and studies["spaces"]:
        parts.append(_spaces(means(studies["transductive"] + studies["spaces"])))
    if studies["honesty"]:
        parts.append(_honesty(studies["honesty"]))
    if studies["sizes"]:
        parts.append(_conditions(means(studies["sizes"] + whole)))
    return "\n\n".join(parts) + "\n"


def means(records: Iterable[Record], figure: str = "accuracy") -> Means:
    """Mean over seeds of a figure."""
    held: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for r in records:
        held[r["cell"], r["condition"], r["method"]].append(r[figure])
    return {key: float(np.mean(values)) for key, values in held.items()}


def gains(
    found: Means, cell: str, kept: Callable[[str], bool] = lambda c: True
) -> dict[str, float]:
    """Per condition what ``default`` gains over zero-shot."""
    return {
        condition: found[cell, condition, "default"] - value
        for (at, condition, method), value in found.items()
        if at == cell and method == "zero-shot" and kept(condition)
    }


def chosen(condition: str) -> bool:
    """Whether constants were chosen on it."""
    return background(condition) in CHOSEN_ON


def checked(condition: str) -> bool:
    """Whether it only checks."""
    return not chosen(condition)


def _sizes(found: Means) -> str:
    rows, short = [], []
    for cell in _cells(found):
        enough = cell in ENOUGH
        rivals = {
            c: found[cell, c, "default"] - max(found[cell, c, "paper"], found[cell, c, "released"])
            for c in gains(found, cell)
            if enough
        }
        short += [f"{c} at {cell}: {v:+.1f}" for c, v in rivals.items() if v < -MARGIN]
        name = f"{cell}, transductive" if cell == "2000" else cell
        lead = [f"{np.mean(list(rivals.values())):+.1f}", _least(rivals)] if enough else ["", ""]
        rows.append([name, *_accuracies(found, cell), *_worst(found, cell), *lead])
    text = _section(
        "Calibration size, unseen clips",
        ["clips", "zero-shot", "paper", "released", "default", *WORST, "- better rival", "least"],
        rows,
        found,
    )
    held = "holds in every cell" if not short else f"fails in {len(short)}: {'; '.join(short)}"
    return f"{text}\n\nNot below the better of paper and released by over {MARGIN}: {held}."


def _floor(title: str, found: Means) -> str:
    rows = []
    for cell in _cells(found):
        averages = [f"{_mean(found, cell, method):.1f}" for method in ("zero-shot", "default")]
        rows.append([cell, *averages, *_worst(found, cell)])
    return _section(title, ["batch", "zero-shot", "default", *WORST], rows, found)


def _spaces(found: Means) -> str:
    cells = _cells(found)
    rows, ahead = [], []
    for cell in cells:
        ahead.append(_mean(found, cell, "default") - _mean(found, cell, "released"))
        rows.append([cell, *_accuracies(found, cell), f"{ahead[-1]:+.2f}"])
    others = float(np.mean(ahead[1:]))
    table = _table(["space", "zero-shot", "paper", "released", "default", "- released"], rows)
    return (
        f"### Five spaces, transductive\n\n{table}\n\n"
        f"At least 1.0 above released in concepts: {_holds(ahead[0] >= 1)}; in three of the others: "
        f"{_holds(sum(value >= 1 for value in ahead[1:]) >= 3)}; "
        f"at least 3.0 on their mean ({others:+.2f}): {_holds(others >= 3)}."
    )


def _honesty(records: list[Record]) -> str:
    figures = {
        "accuracy": "accuracy", "ece": "ECE", "auroc": "AUROC",
        "auroc_cosine": "AUROC, cosine alone", "known_rejected": "known rejected",
        "accuracy_lost": "accuracy lost", "foreign_rejected": "foreign rejected",
    }  # fmt: skip
    parts = ["### Confidence before and after"]
    for title, kept in (
        ("Constants chosen here (classes of even number)", chosen),
        ("Checked here (classes of odd number)", checked),
    ):
        inside = [r for r in records if kept(r["condition"])]
        rows = []
        for cell in dict.fromkeys(r["cell"] for r in inside):
            for method in ("zero-shot", "default"):
                some = [r for r in inside if (r["cell"], r["method"]) == (cell, method)]
                cells = [f"{np.mean([r[f] for r in some]):.1f}" for f in figures]
                rows.append([cell, method, *cells])
        if rows:
            parts += [f"{title}:", _table(["batch", "scores", *figures.values()], rows)]
    return "\n\n".join(parts)


def _conditions(found: Means) -> str:
    cells = _cells(found)
    names = list(dict.fromkeys(condition for _, condition, _ in found))
    rows = [
        [name, f"{found[cells[-1], name, 'zero-shot']:.1f}"]
        + [
            f"{found[cell, name, 'default'] - found[cell, name, 'zero-shot']:+.1f}"
            for cell in cells
            if (cell, name, "default") in found
        ]
        for name in names
    ]
    table = _table(["condition", "zero-shot", *cells], rows)
    return f"### `default` minus zero-shot by condition and calibration size\n\n{table}"


WORST = ["mean gain", "least, chosen on", "least, checked on"]


def _worst(found: Means, cell: str) -> list[str]:
    return [
        f"{np.mean(list(gains(found, cell).values())):+.1f}",
        *(_least(gains(found, cell, kept)) for kept in (chosen, checked)),
    ]


def _least(values: dict[str, float]) -> str:
    if not values:
        return ""
    condition = min(values, key=values.__getitem__)
    return f"{values[condition]:+.1f} ({condition})"


def _section(title: str, head: list[str], rows: list[list[str]], found: Means) -> str:
    low = [
        f"{condition}, {cell}: {value:+.1f}"
        for cell in _cells(found)
        for condition, value in gains(found, cell).items()
        if value < -FLOOR
    ]
    held = "holds in every cell" if not low else f"fails in {len(low)}: {'; '.join(low)}"
    return f"### {title}\n\n{_table(head, rows)}\n\nFloor of {FLOOR} below zero-shot: {held}."


def _accuracies(found: Means, cell: str) -> list[str]:
    methods = ("zero-shot", "paper", "released", "default")
    made = {method for at, _, method in found if at == cell}
    return [f"{_mean(found, cell, method):.1f}" if method in made else "" for method in methods]


def _mean(found: Means, cell: str, method: str) -> float:
    return float(np.mean([v for (at, _, name), v in found.items() if (at, name) == (cell, method)]))


def _cells(found: Means) -> list[str]:
    return list(dict.fromkeys(cell for cell, _, _ in found))


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _holds(condition: bool) -> str:
    return "holds" if condition else "fails"

"""The report of ``benchmarks/labels.py``: what was asked, tables, and a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "study"))
from spaces import space

from prism_audio.io.atomic import atomic_write

SPACES = ("concepts", "laion", "near", "moved")
# Those in which gains are asked for; moved CLAP is shown beside them.
ASKED = ("concepts", "laion", "near")
CELLS = ("1 label", "2 labels", "5 labels", "10 labels")
HARD = ("1 label, 5 % wrong", "5 labels, 5 % wrong", "1 label, half", "5 labels, half")
OURS = "default with labels"
METHODS = (OURS, "logistic regression", "shrunk LDA", "cache", "naive anchors")


class Result(NamedTuple):
    """Accuracy in percent of a method in one condition, with a list of C classes."""

    condition: str
    C: int
    cell: str
    method: str
    right: float


class Means:
    """Means over what is not named, each condition's lists and draws first."""

    def __init__(self, results: list[Result]) -> None:
        self.by: dict[tuple[str, int, str, str], list[float]] = {}
        for condition, C, cell, method, right in results:
            self.by.setdefault((condition, C, cell, method), []).append(right)

    def of(self, where: str, C: int, cell: str, method: str) -> float:
        """Mean over the conditions of a space; NaN where there is none."""
        values = [
            np.mean(rights)
            for (condition, *rest), rights in self.by.items()
            if rest == [C, cell, method] and space(condition) == where
        ]
        return float(np.mean(values)) if values else float("nan")

    def gain(self, where: str, C: int, cell: str, method: str = OURS) -> float:
        """Above the blind calibration."""
        return self.of(where, C, cell, method) - self.of(where, C, "0 labels", "default")

    def conditions(self, cells: tuple[str, ...]) -> list[tuple[float, float, str]]:
        """Gains of ours in one condition, list and cell, with standard errors over its draws."""
        found = []
        for (name, C, cell, method), rights in self.by.items():
            if method == OURS and cell in cells:
                gains = np.subtract(rights, self.by[name, C, "0 labels", "default"])
                error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
                found.append((float(gains.mean()), error, f"{name}, list of {C}, {cell}"))
        return sorted(found)


def report(results: list[Result], folder: Path) -> None:
    """Write labels.md and labels.svg into ``folder``."""
    means = Means(results)
    spaces = [where for where in SPACES if any(space(r.condition) == where for r in results)]
    text = "\n\n".join(
        [
            "# What a few labels are worth",
            "Accuracy on clips that no calibration has seen. `python benchmarks/labels.py` makes this "
            "page; its first lines say how clips and labels are drawn. *laion* is true CLAP, *moved* "
            "true CLAP moved by noise, *near* a tagger's features in CLAP's space, *concepts* the "
            "embedded encoder. ESC-50 has 400 clips of ten classes: 300 to calibrate on, 100 to judge.",
            "![Accuracy by labels a class](../img/labels.svg)",
            "## What was asked",
            asked(means, spaces),
            "## Labels a class, drawn at random",
            "*Cache* is Tip-Adapter's form on corrected rows; *naive anchors* puts labelled clips into "
            "the class means beside the prototype. A shrunk linear discriminant (LDA) needs two labels "
            "of a class.",
            *(accuracies(means, spaces, C) for C in (50, 10)),
            "## Wrong labels, and labels of half of the classes",
            "Points above the calibration without labels.",
            hard(means, spaces),
        ]
    )
    print(text)
    with atomic_write(folder / "labels.md") as file:
        file.write((text + "\n").encode())
    draw(means, spaces, folder)


def asked(means: Means, spaces: list[str]) -> str:
    rows = []

    def check(what: str, value: float, least: float, where: str = "") -> None:
        rows.append((what, f"{value:+.2f}", "yes" if value >= least else "**no**", where))

    every = [(where, C) for where in spaces for C in (50, 10)]
    for cell, least in (("1 label", 0.5), ("5 labels", 2.5)):
        for named, among in (("asked for", ASKED), ("measured", SPACES)):
            chosen = [means.gain(where, C, cell) for where, C in every if where in among]
            what = f"{cell} a class, mean over lists and the spaces {named}: at least +{least}"
            check(what, float(np.mean(chosen)), least, ", ".join(w for w in among if w in spaces))
    behind = [
        (
            np.mean(
                [means.of(where, C, cell, OURS) - means.of(where, C, cell, m) for C in (50, 10)]
            ),
            f"{where}, {cell}, {m}",
        )
        for where in spaces
        for cell in CELLS
        for m in METHODS[1:]
    ]
    worst, place = min(pair for pair in behind if np.isfinite(pair[0]))
    check("a space's mean above the best other method: at least -0.5", float(worst), -0.5, place)
    for kind, cells, least in (
        ("labels", CELLS, -0.3),
        ("wrong labels, or of half of the classes", HARD, -0.5),
    ):
        low = min(
            (means.gain(w, C, cell), f"{w}, list of {C}, {cell}")
            for w, C in every
            for cell in cells
        )
        check(f"{kind}: lowest space, list and count: at least {least}", low[0], least, low[1])
        single = means.conditions(cells)
        gain, error, place = single[0]
        lowest = f"{gain:+.2f} ± {error:.2f}"
        rows.append((f"{kind}: lowest of {len(single)} single conditions", lowest, "", place))
        sure = [f"{where} ({g:+.2f} ± {e:.2f})" for g, e, where in single if g + 2 * e < least]
        what = f"{kind}: single conditions below {least} by two standard errors: none"
        rows.append((what, f"{len(sure)}", "**no**" if sure else "yes", "; ".join(sure[:3])))
    return table(("asked", "measured", "reached", "where"), rows)


def accuracies(means: Means, spaces: list[str], C: int) -> str:
    rows = []
    for where in spaces:
        blind = means.of(where, C, "0 labels", "default")
        for method in METHODS:
            values = [means.of(where, C, cell, method) for cell in CELLS]
            shown = ["" if np.isnan(v) else f"{v:.1f}" for v in values]
            rows.append((where, method, f"{blind:.1f}" if method == OURS else "", *shown))
    return f"List of {C}:\n\n" + table(("space", "method", "no label", *CELLS), rows)


def hard(means: Means, spaces: list[str]) -> str:
    rows = [
        (where, f"{C}", *(f"{means.gain(where, C, cell):+.1f}" for cell in HARD))
        for where in spaces
        for C in (50, 10)
    ]
    return table(("space", "list", *HARD), rows)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(means: Means, spaces: list[str], folder: Path) -> None:
    """Accuracy by labels a class, a panel for every space and list."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "labels"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        2, len(spaces), figsize=(3 * len(spaces), 5.2), sharex=True, squeeze=False
    )
    for row, C in enumerate((50, 10)):
        for column, where in enumerate(spaces):
            axis = axes[row][column]
            blind = means.of(where, C, "0 labels", "default")
            for method in METHODS:
                values = [means.of(where, C, cell, method) for cell in CELLS]
                start = blind if method in (OURS, "cache", "naive anchors") else np.nan
                style = {"linewidth": 2.5} if method == OURS else {"linewidth": 1.2}
                axis.plot(
                    range(5), [start, *values], marker="o", markersize=3, label=method, **style
                )
            axis.axhline(blind, color="0.6", linestyle=":", linewidth=1)
            lowest = min(blind - 12, means.of(where, C, "5 labels", "logistic regression") - 3)
            axis.set_ylim(bottom=lowest)
            axis.set_title(f"{where}, {C} classes", fontsize=9)
            axis.set_xticks(range(5), ["0", "1", "2", "5", "10"])
    figure.supxlabel("labels a class", fontsize=9)
    figure.supylabel("% right on unseen clips", fontsize=9)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncols=5, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    with atomic_write(folder / "labels.svg") as file:
        figure.savefig(file, format="svg", metadata={"Date": None})

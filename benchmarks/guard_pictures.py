"""The pictures of docs/guard.md from what ``benchmarks/guard.py`` has written.

    python benchmarks/guard_pictures.py FOLDER/guard.json docs/img

Needs matplotlib. Draws ``guard_sizes.png``, ``guard_weight.png``, ``guard_lists.png`` and
``guard_reliability.png``; a picture whose study is not in the file is left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from guard_tables import means

from prism_audio.geometry.guard import COVERAGE_HALF, COVERAGE_POWER, hill

COLOURS = {"zero-shot": "#888888", "paper": "#c1843b", "released": "#7a5aa6", "default": "#1b7f6b"}
Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    records: list[Record] = json.loads(given.results.read_text(encoding="utf-8"))
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    for name, draw, study in (
        ("guard_sizes", sizes, "sizes"),
        ("guard_weight", weight, None),
        ("guard_lists", lists, "lists"),
        ("guard_reliability", reliability, "honesty"),
    ):
        some = [r for r in records if r["study"] == study]
        if study is None or some:
            figure = draw(some)
            figure.savefig(given.folder / f"{name}.png", dpi=110, bbox_inches="tight")
            plt.close(figure)


def sizes(records: list[Record]) -> plt.Figure:
    """Accuracy against the number of clips calibrated on."""
    found = means(records)
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    for method, colour in COLOURS.items():
        at = sorted({int(cell) for cell, _, m in found if m == method})
        values = [
            np.mean([v for (cell, _, m), v in found.items() if (int(cell), m) == (n, method)])
            for n in at
        ]
        axes.plot(at, values, marker="o", ms=4, color=colour, label=method)
    axes.legend(frameon=False, loc="lower right")
    axes.set_xscale("log", base=2)
    axes.set_xticks(at, [str(n) for n in at])
    axes.set_xlabel("clips calibrated on, 50 classes")
    axes.set_ylabel("accuracy on unseen clips, %")
    return figure


def weight(_: list[Record]) -> plt.Figure:
    """The weight over what it is made of."""
    r, v = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0.01, 1, 200))
    w = r * np.vectorize(lambda x: hill(x, COVERAGE_HALF, COVERAGE_POWER))(v)
    figure, axes = plt.subplots(figsize=(4.8, 3.8))
    filled = axes.contourf(r, v, w, levels=np.linspace(0, 1, 11), cmap="YlGnBu")
    lines = axes.contour(r, v, w, levels=[0.02, 0.3, 0.7], colors="k", linewidths=0.8)
    axes.clabel(lines, fmt="%g", fontsize=8)
    figure.colorbar(filled, label="part of the correction that is used")
    axes.set_xlabel("reliability, what two halves share")
    axes.set_ylabel("coverage, classes heard / all")
    return figure


def lists(records: list[Record]) -> plt.Figure:
    """What is lost or won with other lists of labels, and where few of them are heard."""
    found = means(records)
    cells = list(dict.fromkeys(cell for cell, _, _ in found))
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    for i, cell in enumerate(cells):
        gains = [
            found[cell, condition, "default"] - value
            for (at, condition, method), value in found.items()
            if at == cell and method == "zero-shot"
        ]
        axes.plot(gains, [i] * len(gains), "o", ms=4, alpha=0.5, color=COLOURS["default"])
    axes.axvline(0, color="#888888", lw=0.8)
    axes.axvline(-1, color="#b03030", lw=0.8, ls="--")
    axes.set_yticks(range(len(cells)), cells)
    axes.invert_yaxis()
    axes.set_xlim(min(-1.5, axes.get_xlim()[0]), max(1.5, axes.get_xlim()[1]))
    axes.set_xlabel("default minus zero-shot, points; one dot a condition")
    return figure


def reliability(records: list[Record]) -> plt.Figure:
    """How often an answer is right against how sure it is, before and after."""
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.6), sharey=True)
    for axes, method in zip(panels, ("zero-shot", "default"), strict=True):
        bins = np.sum(
            [r["bins"] for r in records if r["method"] == method and r["cell"] == "250 clips"],
            axis=0,
        )
        clips, sure, right = bins[bins[:, 0] > 0].T
        axes.plot([0, 1], [0, 1], color="#888888", lw=0.8)
        size = 4 + 200 * clips / clips.sum()
        axes.scatter(sure / clips, right / clips, s=size, color=COLOURS[method])
        axes.set_title(method, fontsize=10)
        axes.set_xlabel("probability of the answer")
        axes.set(xlim=(0, 1.03), ylim=(0, 1.03))
    panels[0].set_ylabel("part that is right")
    return figure


if __name__ == "__main__":
    main()

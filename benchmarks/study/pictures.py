"""Pictures of the study: gain by clips, gain by part of the classes heard, reliability."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import matplotlib
import numpy as np
from parts import Record
from report import SPACES, gains
from spaces import space

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CELL = re.compile(r"(\d+) labels, (\d+) heard, (\d+) clips")


def draw_pictures(records: list[Record], out: Path) -> None:
    """Write method_clips.png, method_heard.png and method_reliability.png into ``out``."""
    points = [
        (space(str(name)), *map(int, match.groups()), gain)
        for (name, cell), gain in gains(records, "floor").items()
        if (match := CELL.fullmatch(str(cell)))
    ]
    _lines(
        [(where, C, N, gain) for where, C, k, N, gain in points if k == C],
        (50, 10, 5), "clips, every class as likely", out / "method_clips.png", log=True,
    )  # fmt: skip
    _lines(
        [(where, C, 100 * k / C, gain) for where, C, k, N, gain in points if N >= 4 * C],
        (50, 10, 5), "% of the classes heard", out / "method_heard.png",
    )  # fmt: skip
    _reliability(records, out / "method_reliability.png")


def _lines(
    points: list[tuple[str, int, float, float]],
    lists: tuple[int, ...],
    label: str,
    path: Path,
    *,
    log: bool = False,
) -> None:
    figure, axes = plt.subplots(1, len(lists), figsize=(10, 3.2), sharey=True)
    for axis, C in zip(axes, lists, strict=True):
        for where in SPACES:
            by: dict[float, list[float]] = defaultdict(list)
            for name, size, x, gain in points:
                if name == where and size == C:
                    by[x].append(gain)
            xs = sorted(by)
            axis.plot(xs, [np.mean(by[x]) for x in xs], "o-", label=where)
        axis.axhline(0, color="grey", lw=1)
        axis.set(title=f"{C} labels", xlabel=label)
        if log:
            axis.set_xscale("log", base=2)
    axes[0].set_ylabel("points over zero-shot")
    axes[-1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _reliability(records: list[Record], path: Path) -> None:
    figure, axes = plt.subplots(1, len(SPACES), figsize=(11, 3), sharey=True)
    for axis, where in zip(axes, SPACES, strict=True):
        for method in ("zero-shot", "default"):
            bins = [
                r["bins"]
                for r in records
                if r["part"] == "honesty"
                and r["method"] == method
                and space(r["condition"]) == where
            ]
            if not bins:
                continue
            clips, summed, hits = np.sum(bins, axis=0).T
            seen = clips >= 20
            axis.plot(summed[seen] / clips[seen], hits[seen] / clips[seen], "o-", label=method)
        axis.plot([0, 1], [0, 1], color="grey", lw=1)
        axis.set(title=where, xlabel="said")
    axes[0].set_ylabel("right")
    axes[-1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)

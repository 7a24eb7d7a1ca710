"""Pictures, where matplotlib is installed."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Mapping, Set
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from prism_audio.io.atomic import atomic_write
from prism_audio.io.runtime import import_extra
from prism_audio.io.table_files import check_output
from prism_audio.io.types import Float64

if TYPE_CHECKING:
    from prism_audio.model.diagnose import Shift

SUFFIXES = (".png", ".svg", ".pdf")
# Labels that a calendar shows, those heard most often first.
MOST_PANELS = 12


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise where a picture could not be drawn or kept."""
    check_output(path, SUFFIXES)
    _figure()


def draw_shift(shift: Shift, path: str | os.PathLike[str]) -> None:
    """The cumulative energy of a shift, and of the clean clips beside it."""
    figure = _figure()(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for energy, rank, name, style in (
        (shift.energy, shift.rank, "shift from clean to noisy", "-"),
        (shift.clean_energy, shift.clean_rank, "clean clips about their mean", "--"),
    ):
        axes.plot(range(1, len(energy) + 1), 100 * energy, style, label=f"{name} (90 %: {rank})")
        axes.plot([rank], [100 * energy[rank - 1]], "ko", markersize=4)
    axes.axhline(90, color="0.7", linewidth=0.8)
    axes.set(xlabel="directions", ylabel="energy, %", xscale="log", ylim=(0, 102))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(f"{shift.pairs} pairs, {shift.d} dimensions", fontsize=10)
    axes.legend(loc="lower right", frameon=False)
    _save(figure, path)


def draw_confusion(
    rows: list[str], columns: list[str], table: Float64, path: str | os.PathLike[str]
) -> None:
    """Clips by true label (rows) and answer (columns), with names on both axes."""
    side = 2.2 + 0.22 * max(len(rows), len(columns))
    figure = _figure()(figsize=(side, side), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
    size = 9 if len(columns) <= 25 else 6
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=size)
    axes.set_yticks(range(len(rows)), rows, fontsize=size)
    axes.set(xlabel="answer", ylabel="truth")
    if len(columns) <= 25:
        for i, j in zip(*table.nonzero(), strict=True):
            dark = table[i, j] > table[i].sum() / 2
            axes.text(
                j, i, f"{table[i, j]:.0f}", ha="center", va="center", fontsize=7,
                color="white" if dark else "black",
            )  # fmt: skip
    _save(figure, path)


def draw_calendar(
    counts: Mapping[tuple[str, int, str], int],
    recorded: Set[tuple[str, int]],
    path: str | os.PathLike[str],
) -> None:
    """How often each label was heard, by day (down) and hour (across), a panel a label.

    Hours of which there is no recording are grey; all panels have one scale.
    """
    figure_class = _figure()
    from matplotlib.ticker import MaxNLocator

    totals: Counter[str] = Counter()
    for (_, _, label), count in counts.items():
        totals[label] += count
    labels = [label for label, _ in totals.most_common(MOST_PANELS)]
    days = _days({day for day, _ in recorded})
    height = min(4.0, 0.9 + 0.16 * len(days))
    figure = figure_class(figsize=(7.0, height * max(1, len(labels))), layout="constrained")
    panels = figure.subplots(len(labels), 1, squeeze=False, sharex=True)[:, 0]
    step = -(-len(days) // 20)
    for axes, label in zip(panels, labels, strict=True):
        table = [
            [
                counts.get((day, hour, label), 0 if (day, hour) in recorded else float("nan"))
                for hour in range(24)
            ]
            for day in days
        ]
        axes.set_facecolor("0.85")
        image = axes.imshow(table, aspect="auto", cmap="Blues", vmin=0, vmax=max(counts.values()))
        axes.set_xticks(range(0, 24, 3))
        axes.set_yticks(range(0, len(days), step), days[::step], fontsize=7)
        axes.set_title(label, fontsize=9, loc="left")
    panels[-1].set_xlabel("hour of the day (grey: not recorded)")
    scale = figure.colorbar(image, ax=list(panels), aspect=40, label="times heard")
    scale.locator = MaxNLocator(integer=True)
    _save(figure, path)


def _days(recorded: Set[str]) -> list[str]:
    """All days from the first to the last; of more than a year those with recordings alone."""
    first, last = (date.fromisoformat(day) for day in (min(recorded), max(recorded)))
    if (last - first).days > 366:
        return sorted(recorded)
    return [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    buffer = io.BytesIO()
    target = check_output(path, SUFFIXES)
    figure.savefig(buffer, format=target.suffix[1:].lower(), dpi=150)
    with atomic_write(target) as file:
        file.write(buffer.getvalue())


def _figure() -> Any:
    return import_extra(
        "matplotlib.figure",
        "a picture needs matplotlib (pip install 'prism-audio[bench]'); "
        "without --out the table is printed all the same",
    ).Figure

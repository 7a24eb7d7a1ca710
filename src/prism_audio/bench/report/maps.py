"""Pictures of the report: maps of change by class and place, and of place against place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prism_audio.bench.report.style import DIVERGING, canvas
from prism_audio.bench.trials.summary import TransductiveSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MANY = 20


def class_map(summary: TransductiveSummary, method: str, classes: Sequence[str]) -> Figure:
    """Change of accuracy against zero-shot, class by class and place by place, in points."""
    change = 100 * summary.class_changes(method)
    order = np.argsort(-change.mean(axis=1), kind="stable")
    names = [classes[number] for number in order]
    # Two halves side by side: fifty rows in one column could not be read.
    parts = np.array_split(np.arange(len(names)), 2 if len(names) > _MANY else 1)
    height = 0.3 * max(map(len, parts)) + 2.2
    figure, panels = canvas(6.2 * len(parts), height, columns=len(parts))
    limit = float(np.abs(change).max()) or 1.0
    for axes, part in zip(np.atleast_1d(panels), parts, strict=True):
        image = axes.imshow(
            change[order][part], cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto"
        )
        _cells(axes, change[order][part], limit, "{:+.0f}")
        axes.set_yticks(range(len(part)), [names[number] for number in part])
        axes.set_xticks(range(len(summary.places)), summary.places, rotation=30, ha="right")
        axes.grid(visible=False)
        axes.tick_params(length=0)
    figure.colorbar(
        image, ax=panels, label=f"{method} less zero-shot (points)", location="bottom",
        shrink=0.6, aspect=40,
    )  # fmt: skip
    return figure


def cross_map(places: Sequence[str], change: NDArray[np.float64], title: str) -> Figure:
    """Change against zero-shot, calibrated here (rows), used there (columns), in points."""
    figure, axes = canvas(7.5, 6)
    points = 100 * change
    limit = float(np.nanmax(np.abs(points))) or 1.0
    image = axes.imshow(points, cmap=DIVERGING, vmin=-limit, vmax=limit)
    _cells(axes, points, limit, "{:+.1f}")
    axes.set_xticks(range(len(places)), places, rotation=30, ha="right")
    axes.set_yticks(range(len(places)), places)
    axes.set_xlabel("used in")
    axes.set_ylabel("calibrated in")
    axes.set_title(title)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, label="points above zero-shot")
    return figure


def _cells(axes: object, values: NDArray[np.float64], limit: float, form: str) -> None:
    for row, column in np.ndindex(values.shape):
        value = values[row, column]
        if np.isfinite(value):
            dark = abs(value) > 0.6 * limit
            shown = form.format(value)
            shown = shown if float(shown) else "0"
            axes.text(  # type: ignore[attr-defined]
                column, row, shown, ha="center", va="center", fontsize=10,
                color="#FFFFFF" if dark else "#000000",
            )  # fmt: skip

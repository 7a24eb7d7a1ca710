"""Pictures of the report: lines and bars. Maps are in :mod:`prism_audio.bench.report.maps`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from prism_audio.bench.experiment.conditions import MIXED
from prism_audio.bench.report.protocol_tables import ordered
from prism_audio.bench.report.style import GREY, beside, canvas, kind_colour, kind_legend, looks
from prism_audio.bench.trials.ablation import USUAL
from prism_audio.bench.trials.cost import Cost
from prism_audio.bench.trials.spectrum import RANK, Energy
from prism_audio.bench.trials.summary import BASELINE, TransductiveSummary, level_name
from prism_audio.model.diagnose import ENERGY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Below this SNR in dB the noise is at least as strong as the sound.
_SEVERE = 0.0
_ACCURACY = "accuracy (%)"


def main_figure(summary: TransductiveSummary, kinds: dict[str, str]) -> Figure:
    """Accuracy of every method over all conditions, with the interval of its lead over zero-shot."""
    methods = sorted(summary.methods, key=summary.mean)
    figure, axes = canvas(9, 0.36 * len(methods) + 1.6)
    largest = 0.0
    for row, method in enumerate(methods):
        mean, gap = summary.mean(method), summary.difference(method, BASELINE)
        low, high = (100 * (mean + edge - gap.mean) for edge in (gap.low, gap.high))
        axes.barh(row, 100 * mean, color=kind_colour(method, kinds), height=0.7)
        axes.plot([low, high], [row, row], color="#FFFFFF", lw=4)
        axes.plot([low, high], [row, row], color="#333333", lw=1.6)
        axes.text(high + 0.6, row, f"{100 * mean:.1f}", va="center", fontsize=11)
        largest = max(largest, high)
    axes.axvline(100 * summary.mean(BASELINE), color="#000000", lw=1, ls=":")
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(-0.6, len(methods) - 0.4)
    axes.set_xlim(0, largest + 7)
    axes.set_xlabel(f"{_ACCURACY}; lines: 95 % interval of the distance from zero-shot")
    axes.grid(axis="y", visible=False)
    kind_legend(figure)
    return figure


def level_figure(summary: TransductiveSummary, methods: Sequence[str]) -> Figure:
    """Accuracy against SNR, with clean clips at the right end."""
    figure, axes = canvas(10, 5)
    levels = [level for level in summary.levels if level != MIXED]
    where = [float(level) if not isinstance(level, str) else None for level in levels]
    last = max((x for x in where if x is not None), default=0.0)
    xs = [last + 4 if x is None else x for x in where]
    for method, look in looks(methods).items():
        values = [100 * summary.mean(method, levels=[level]) for level in levels]
        axes.plot(xs, values, label=method, **look)
    axes.set_xticks(xs, [level_name(level).removesuffix(" dB") for level in levels])
    axes.set_xlabel("SNR (dB)")
    axes.set_ylabel(_ACCURACY)
    beside(axes)
    return figure


def gain_figure(summary: TransductiveSummary, methods: Sequence[str]) -> Figure | None:
    """Gain over zero-shot in severe noise and in moderate noise."""
    snrs = [level for level in summary.levels if not isinstance(level, str)]
    severe = [level for level in snrs if level <= _SEVERE]
    moderate = [level for level in snrs if level > _SEVERE]
    shown = [method for method in methods if method != BASELINE]
    if not severe or not moderate or not shown:
        return None
    figure, axes = canvas(9, 0.45 * len(shown) + 1.4)
    parts = (
        ("0 dB and below", severe, "#D55E00", -0.2),
        ("above 0 dB", moderate, "#56B4E9", 0.2),
    )
    for name, levels, colour, offset in parts:
        gains = [
            100 * (summary.mean(method, levels=levels) - summary.mean(BASELINE, levels=levels))
            for method in shown
        ]
        axes.barh(np.arange(len(shown)) + offset, gains, height=0.38, color=colour, label=name)
    axes.axvline(0, color="#000000", lw=1)
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    axes.set_xlabel("points above zero-shot")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="best", frameon=True)
    return figure


def axis_figure(
    scores: dict[str, dict[str, float]],
    methods: Sequence[str],
    label: str,
    levels: dict[str, float] | None = None,
) -> Figure:
    """Accuracy along the axis of a protocol; ``levels``, of compiled maps, are lines across it."""
    figure, axes = canvas(10, 5)
    shown = [method for method in methods if method in scores]
    settings = ordered({setting for method in shown for setting in scores[method]})
    xs = np.arange(len(settings))
    styles = looks(methods)
    for method in shown:
        values = [100 * scores[method].get(setting, np.nan) for setting in settings]
        axes.plot(xs, values, label=method, **styles[method])
    for method, value in (levels or {}).items():
        look = {**styles[method], "linestyle": (0, (1, 2)), "linewidth": 2, "markersize": 10}
        axes.plot(xs[[0, -1]], [100 * value] * 2, label=f"{method}, compiled", **look)
    axes.set_xticks(xs, settings)
    axes.set_xlabel(label)
    axes.set_ylabel(_ACCURACY)
    axes.set_ylim(bottom=0)
    beside(axes)
    return figure


def latency_figure(
    summary: TransductiveSummary,
    costs: dict[str, Cost],
    kinds: dict[str, str],
    named: Sequence[str],
) -> Figure:
    """Accuracy against the time of calibration, and against that of one inference."""
    from matplotlib.ticker import NullFormatter

    figure, panels = canvas(13, 6, columns=2)
    names = ("calibrate_ms", "one_clip_ms")
    titles = ("calibration, all clips (ms)", "inference, one clip (ms)")
    for axes, name, title in zip(panels, names, titles, strict=True):
        times = {method: getattr(cost, name) for method, cost in costs.items()}
        finite = {m: (x, 100 * summary.mean(m)) for m, x in times.items() if np.isfinite(x)}
        for method, (x, y) in finite.items():
            ours = method == "prism"
            colour = kind_colour(method, kinds)
            axes.plot(x, y, "*" if ours else "o", color=colour, ms=16 if ours else 8)
        xs = [x for x, _ in finite.values()]
        axes.set_xscale("log")
        axes.set_xlim(10 ** np.floor(np.log10(min(xs))), 10 ** np.ceil(np.log10(max(xs))))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(title)
        _name_points(axes, {method: at for method, at in finite.items() if method in named})
    panels[0].set_ylabel(f"{_ACCURACY}, all conditions")
    kind_legend(figure)
    return figure


def _name_points(axes: Axes, points: dict[str, tuple[float, float]]) -> None:
    """Names in a column at the right, apart from each other, each with a line to its point."""
    low, high = axes.get_ylim()
    order = sorted(points, key=lambda method: points[method][1])
    gap = (high - low) / 20
    heights: list[float] = []
    for method in order:
        wanted = points[method][1]
        heights.append(max(wanted, heights[-1] + gap) if heights else wanted)
    # Where the column has grown past the top, all of it moves down.
    excess = max(0.0, heights[-1] - high) if heights else 0.0
    right = axes.get_xlim()[1]
    for method, height in zip(order, heights, strict=True):
        axes.annotate(
            method, points[method], xytext=(right * 1.1, height - excess), fontsize=10.5,
            va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#BBBBBB", "lw": 0.8, "shrinkB": 4},
        )  # fmt: skip


def spectrum_figure(shifts: Sequence[Energy], references: Sequence[Energy]) -> Figure:
    """Cumulative energy of the shift by noise, beside that of clean embeddings."""
    figure, axes = canvas(10, 5)
    most = min(200, len(shifts[0].curve))
    for shift, look in zip(shifts, looks([shift.name for shift in shifts]).values(), strict=True):
        axes.plot(np.arange(1, most + 1), 100 * shift.curve[:most], color=look["color"],
                  label=f"shift, {shift.name}")  # fmt: skip
    for reference, style in zip(references, ("--", ":"), strict=False):
        axes.plot(np.arange(1, most + 1), 100 * reference.curve[:most], style, color="#000000",
                  label=reference.name)  # fmt: skip
    axes.axhline(100 * ENERGY, color=GREY, lw=1)
    axes.axvline(RANK, color=GREY, lw=1)
    axes.set_xlabel(f"directions (line at K = {RANK})")
    axes.set_ylabel("energy within them (%)")
    axes.set_ylim(0, 101)
    axes.legend(loc="lower right")
    return figure


def parameter_name(name: str) -> str:
    """The name of a parameter for readers, with what it needs to have an effect."""
    names = {"lam": "lambda", "rho": "rho (soft deflation)", "gamma": "gamma (with CAR)"}
    return names.get(name, name)


def sensitivity_figure(scores: dict[str, dict[float, float]], baseline: float) -> Figure:
    """Accuracy against each parameter, all else as printed."""
    columns = 3
    rows = -(-len(scores) // columns)
    figure, panels = canvas(12, 3.3 * rows + 0.4, rows, columns)
    values = [100 * value for by_value in scores.values() for value in by_value.values()]
    flat = np.ravel(panels)
    for axes, (name, by_value) in zip(flat, scores.items(), strict=False):
        xs = np.arange(len(by_value))
        axes.plot(xs, [100 * value for value in by_value.values()], "o-", color="#0072B2")
        if USUAL[name] in by_value:
            at = list(by_value).index(USUAL[name])
            axes.plot(at, 100 * by_value[USUAL[name]], "o", ms=13, mfc="none",
                      mec="#D55E00", mew=2.5)  # fmt: skip
        axes.set_xticks(xs, [f"{value:g}" for value in by_value])
        axes.set_xlabel(parameter_name(name))
        axes.axhline(100 * baseline, color="#000000", ls=":", lw=1.5)
        axes.set_ylim(min(*values, 100 * baseline) - 2, max(values) + 2)
    for axes in flat[len(scores) :]:
        axes.set_visible(False)
    for axes in flat[::columns]:
        axes.set_ylabel(_ACCURACY)
    return figure

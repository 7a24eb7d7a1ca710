"""Style of the pictures: colour-blind safe, readable at half size, the same bytes every time."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from prism_audio.io.runtime import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, safe for colour-blind readers. Black is zero-shot; vermilion is PRISM, whose
# forms differ in line and marker.
_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6D31", "#5F5F5F")
_MARKERS = ("s", "^", "D", "v", "P", "X", "<")
_OURS = "#D55E00"
_FIXED: dict[str, dict[str, Any]] = {
    "zero_shot": {"color": "#000000", "marker": "o", "linestyle": "-"},
    "prism": {
        "color": _OURS, "marker": "*", "linestyle": "-", "markersize": 13, "linewidth": 3, "zorder": 5,
    },
    "prism_paper": {"color": _OURS, "marker": "s", "linestyle": "--"},
    "prism_car": {"color": _OURS, "marker": "D", "linestyle": ":"},
    "prism_released": {"color": _OURS, "marker": "^", "linestyle": "-."},
}  # fmt: skip
_KINDS = {"ours": _OURS, "oracle": "#CC79A7", "blind": "#0072B2"}
GREY = "#9A9A9A"
DIVERGING = "PuOr_r"
_SETTINGS: dict[Any, Any] = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.labelsize": 13,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "lines.markersize": 7,
    "svg.hashsalt": "prism",
}


def canvas(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Any]:
    """A figure and its axes: one, or an array of them."""
    matplotlib = import_extra(
        "matplotlib",
        "the pictures of the report need matplotlib: pip install 'prism-audio[bench]'",
    )
    matplotlib.rcParams.update(_SETTINGS)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)


def looks(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and line of each method; the fixed ones look the same in every picture."""
    others = [method for method in methods if method not in _FIXED]
    styles = {
        method: {
            "color": _COLOURS[number % len(_COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": "-" if number < len(_COLOURS) else "--",
        }
        for number, method in enumerate(others)
    }
    return {method: _FIXED.get(method) or styles[method] for method in methods}


def kind_colour(method: str, kinds: dict[str, str]) -> str:
    """Colour of a method by its role, for pictures with too many methods for one colour each."""
    return "#000000" if method == "zero_shot" else _KINDS.get(kinds.get(method, ""), "#8A8A8A")


def kind_legend(figure: Figure) -> None:
    """Legend of the roles, above the plots."""
    from matplotlib.patches import Patch

    names = {
        "PRISM": _OURS,
        "blind (paper)": "#0072B2",
        "knows the place": "#CC79A7",
        "controls, rivals": "#8A8A8A",
        "zero-shot": "#000000",
    }
    handles = [Patch(color=colour, label=name) for name, colour in names.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, handlelength=1.2)


def beside(axes: Axes) -> None:
    """Put the legend to the right of the plot, where it hides no line."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def svg(figure: Figure) -> bytes:
    """The picture as SVG, without the date."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()

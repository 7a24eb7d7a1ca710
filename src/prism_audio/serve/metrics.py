"""Numbers about the service in the text form that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

# Upper bounds of the histogram of answer times, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts of answers and how long they took; used from the event loop alone."""

    def __init__(self) -> None:
        self._answers: defaultdict[Labels, int] = defaultdict(int)
        self._times: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request has its answer. ``route`` is one of ours, never what a client made up."""
        self._answers[(("method", method), ("route", route), ("status", str(status)))] += 1
        counts = self._times.setdefault(route, [0] * (len(BOUNDS) + 1))
        counts[bisect_left(BOUNDS, seconds)] += 1
        self._sums[route] += seconds

    def text(self, gauges: Iterable[tuple[str, str, str, float]]) -> str:
        """The page of all numbers; ``gauges`` are (name, kind, help, value) of the moment."""
        lines = [*_head("prism_requests_total", "counter", "Requests answered.")]
        lines += [
            f"prism_requests_total{_braces(labels)} {count}"
            for labels, count in sorted(self._answers.items())
        ]
        name = "prism_request_seconds"
        lines += _head(name, "histogram", "Seconds from the first byte of a request to its answer.")
        for route, counts in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*BOUNDS, float("inf")), counts, strict=True):
                total += count
                edge = "+Inf" if bound == float("inf") else f"{bound:g}"
                labels = (("route", route), ("le", edge))
                lines.append(f"{name}_bucket{_braces(labels)} {total}")
            only = _braces((("route", route),))
            lines.append(f"{name}_sum{only} {self._sums[route]:.6f}")
            lines.append(f"{name}_count{only} {total}")
        for name, kind, about, value in gauges:
            lines += [*_head(name, kind, about), f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _braces(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

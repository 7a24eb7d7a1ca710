"""Metrics for Prometheus: requests by route, recordings and calibrations by site, what waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

# Upper bounds of the histogram of answer times, in seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Metrics:
    """Counts of answers and how long they took.

    Attributes
    ----------
    requests : Counter
        Requests answered, by method, route and status. The route is one of ours, never what a client
        made up.
    seconds : Histogram
        From the first byte of a request to its answer, by route.
    recordings : Counter
        Recordings that were sent to be labelled, by site.
    jobs : Counter
        Calibrations that ended, by site and state.
    streams : Gauge
        Live streams open, by site.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "prism_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "prism_request_seconds",
            "Seconds from the first byte of a request to its answer.",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self.recordings = Counter(
            "prism_recordings", "Recordings sent.", ["site"], registry=self._registry
        )
        self.jobs = Counter(
            "prism_jobs", "Calibrations that ended.", ["site", "state"], registry=self._registry
        )
        self.streams = Gauge(
            "prism_live_streams", "Live streams open.", ["site"], registry=self._registry
        )

    def watch_gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Show a number of the moment."""
        Gauge(name, about, registry=self._registry).set_function(value)

    def watch_counter(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Show a count that is kept elsewhere."""
        self._registry.register(_Watched(name, about, value))

    def text(self) -> str:
        """All numbers in the text format of Prometheus."""
        return generate_latest(self._registry).decode()


class _Watched(Collector):
    def __init__(self, name: str, about: str, value: Callable[[], float]) -> None:
        self._name, self._about, self._value = name, about, value

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(self._name, self._about, value=self._value())

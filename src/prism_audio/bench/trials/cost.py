"""Measure what a method costs: calibration, inference, numbers to keep, gradients."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from prism_audio.bench.cache import Facts, array_digest
from prism_audio.bench.code_digest import code_digest
from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.embeddings.studio import Progress, no_progress
from prism_audio.bench.experiment.conditions import CLEAN, Condition
from prism_audio.bench.experiment.experiment import Spec
from prism_audio.bench.trials.ablation import method_of
from prism_audio.io.types import Float32
from prism_audio.methods import Kind

_FITS = 3
_SINGLES = 50
_ROOM = "cost"


class Cost(NamedTuple):
    """Milliseconds of one core's time, numbers kept, and whether gradients were taken."""

    calibrate_ms: float
    one_clip_ms: float
    in_batch_ms: float
    size: int
    gradients: bool


def machine() -> str:
    """The machine of the measurement."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def measure(
    bench: Bench, specs: Sequence[Spec], progress: Progress = no_progress
) -> tuple[dict[str, Cost], int]:
    """The cost of every method in the first noisy condition, and how many were measured now.

    Costs are cached, like all results. Times are the best of a few: a cold cache only adds to them.
    """
    from threadpoolctl import threadpool_limits

    typical = bench.experiment.typical()
    condition = next((c for c in typical if c.background != CLEAN), typical[0])
    E = bench.studio.embedding(condition)
    costs, measured = {}, 0
    for spec in specs:
        method = method_of(spec)
        if method.kind is not Kind.ORACLE or condition.background != CLEAN:
            facts: Facts = {
                "method": spec.name,
                "params": spec.params,
                "code": code_digest(type(method).__module__),
                "rows": array_digest(E),
                "machine": machine(),
                "clock": "thread",
            }
            arrays = bench.studio.cache.load(_ROOM, spec.name, facts)
            if arrays is None:
                with threadpool_limits(1):
                    arrays = {"cost": np.array(_measure(bench, spec, condition, E), np.float64)}
                bench.studio.cache.save(_ROOM, spec.name, facts, arrays)
                measured += 1
            calibrate, one, batch, size, gradients = arrays["cost"].tolist()
            costs[spec.label] = Cost(calibrate, one, batch, int(size), bool(gradients))
        progress(1)
    return costs, measured


def _measure(bench: Bench, spec: Spec, condition: Condition, E: Float32) -> Cost:
    method = method_of(spec)
    context = bench.studio.context(method.needs, condition.background) if method.needs else None
    fitted = method.fit(E, bench.text, context)
    calibrate = _best(lambda: method.fit(E, bench.text, context), _FITS)
    if fitted.serve is None:
        return Cost(calibrate, float("inf"), float("inf"), fitted.size, method.gradients)
    fitted.predict(E[:1])
    one = _best(lambda: fitted.predict(E[:1]), _SINGLES)
    batch = _best(lambda: fitted.predict(E), _FITS) / len(E)
    return Cost(calibrate, one, batch, fitted.size, method.gradients)


def _best(work: Callable[[], object], times: int) -> float:
    """Milliseconds of the thread's own time, without other work of the machine."""
    best = float("inf")
    for _ in range(times):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return 1000 * best

"""What a method costs: calibration once, inference for every clip, numbers to keep, gradients."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from prism_audio.bench.ablation import method_of
from prism_audio.bench.assemble import Bench
from prism_audio.bench.cache import Facts, array_digest
from prism_audio.bench.code import code_digest
from prism_audio.bench.conditions import CLEAN, Condition
from prism_audio.bench.config import Spec
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
    """What the times were measured on."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def measure(
    bench: Bench, specs: Sequence[Spec], told: Callable[[int], None] = lambda methods: None
) -> tuple[dict[str, Cost], int]:
    """The cost of every method in the first noisy condition, and how many were measured now.

    Costs are remembered, like all results. Times are the best of a few: a cold cache only adds.
    """
    from threadpoolctl import threadpool_limits

    condition = next(
        (c for c in bench.experiment.typical() if c.background != CLEAN),
        bench.experiment.typical()[0],
    )
    E = bench.studio.embedded(condition).embedding
    found, measured = {}, 0
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
            kept = bench.studio.cache.read(_ROOM, spec.name, facts)
            if kept is None:
                with threadpool_limits(1):
                    kept = _measure(bench, spec, condition, E)
                bench.studio.cache.write(_ROOM, spec.name, facts, kept)
                measured += 1
            found[spec.label] = Cost(*kept)
        told(1)
    return found, measured


def _measure(bench: Bench, spec: Spec, condition: Condition, E: np.ndarray) -> Cost:
    method = method_of(spec)
    context = bench.context(condition.background) if method.kind is Kind.ORACLE else None
    fitted = method.fit(E, bench.text, context)
    calibrate = _best(lambda: method.fit(E, bench.text, context), _FITS)
    if fitted.serve is None:
        return Cost(calibrate, float("inf"), float("inf"), fitted.size, method.gradients)
    fitted.predict(E[:1])
    one = _best(lambda: fitted.predict(E[:1]), _SINGLES)
    batch = _best(lambda: fitted.predict(E), _FITS) / len(E)
    return Cost(calibrate, one, batch, fitted.size, method.gradients)


def _best(work: Callable[[], object], times: int) -> float:
    """Milliseconds of the thread's own work: what else the machine does is not in them."""
    best = float("inf")
    for _ in range(times):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return 1000 * best

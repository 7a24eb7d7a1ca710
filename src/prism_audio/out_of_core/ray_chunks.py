"""The passes of a calibration as tasks of a Ray cluster.

A task reads one chunk, works on it and sends back a state of a few megabytes. It keeps nothing and
changes nothing: if a worker dies, another does its task again. Every machine of the cluster must find
the rows under the same path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from prism_audio.errors import PrismError
from prism_audio.geometry.products import BLOCK_ROWS
from prism_audio.geometry.source import Notes, ScanResult, Work, merge, scan_blocks
from prism_audio.geometry.sphere import Mask
from prism_audio.io.matrices import RowTable
from prism_audio.out_of_core.chunks import Chunks, ChunkSpan, assemble, check_chunk, chunk_bounds
from prism_audio.out_of_core.cluster import connect

# Rows a task: sending a task to a worker and waiting for it costs milliseconds.
TASK_ROWS = 65_536
# Tasks in flight for every core: one that runs, one that waits.
AHEAD = 2


@dataclass(frozen=True, eq=False)
class RayChunks(Chunks):
    """Chunks whose passes run on the cluster that this process is connected to."""

    def scan(self, work: Work, *notes: Notes) -> ScanResult:
        ray: Any = import_module("ray")
        shared = ray.put((self, work))
        calls = []
        begin = 0
        for span, heard in self.parts():
            end = begin + int(heard.sum())
            if end > begin:
                calls.append((shared, span, heard, *(note[begin:end] for note in notes)))
            begin = end
        return merge(on_cluster(_scan, calls))


def open_ray_chunks(
    table: RowTable, rows: int = TASK_ROWS, address: str | None = None
) -> RayChunks:
    """A table, in files that every worker reaches, as a source whose passes run on a cluster.

    A task takes so many ``rows``; at least a block of the calibration, so that the last digits are
    those of rows in memory. Without an ``address`` a cluster of this machine's cores is started.
    """
    connect(address)
    rows = -(-max(rows, 1) // BLOCK_ROWS) * BLOCK_ROWS
    bounds = chunk_bounds(table.shape[0], rows)
    chunks = assemble(table, bounds, on_cluster(check_chunk, [(table, *bound) for bound in bounds]))
    # Cut again, by heard rows alone, so that tasks work on the same blocks as one process would.
    starts = np.flatnonzero(chunks.heard)[::rows].tolist() or [0]
    ends = [*starts[1:], table.shape[0]]
    unit = all(span.unit for span in chunks.spans)
    spans = tuple(ChunkSpan(*bound, unit) for bound in zip([0, *starts[1:]], ends, strict=True))
    return RayChunks(table, spans, chunks.heard, chunks.dtype)


def on_cluster(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """The results of all calls, in order; a few are in flight at a time."""
    ray: Any = import_module("ray")
    task = ray.remote(max_retries=-1)(function)
    limit = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    running: deque[Any] = deque()
    for call in calls:
        running.append(task.remote(*call))
        if len(running) > limit:
            yield _result(ray, running.popleft())
    while running:
        yield _result(ray, running.popleft())


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        # What the task raised lies within, under pages of trace.
        cause = getattr(error, "cause", None)
        if isinstance(cause, PrismError):
            raise cause from None
        reason = cause or str(error).strip().splitlines()[-1]
        raise PrismError(
            f"a task of the Ray cluster failed: {reason}; correct this, then run the same command "
            "again"
        ) from error


def _scan(shared: tuple[Chunks, Work], span: ChunkSpan, heard: Mask, *notes: Notes) -> ScanResult:
    """A pass over one chunk, on a worker."""
    chunks, work = shared
    return scan_blocks(chunks.read(span, heard), work, notes)

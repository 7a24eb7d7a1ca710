"""The passes of a calibration as tasks of a Ray cluster.

A task reads one chunk, works on it and sends back a state of a few megabytes. It keeps nothing and
changes nothing: if a worker dies, another does its task again. Every machine of the cluster must find
the rows under the same path.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from prism_audio.geometry.products import BLOCK_ROWS
from prism_audio.geometry.source import Notes, ScanResult, Work, merge, scan_blocks
from prism_audio.geometry.sphere import Mask
from prism_audio.io.matrices import RowTable
from prism_audio.out_of_core.chunks import Chunks, ChunkSpan, assemble, check_chunk, chunk_bounds
from prism_audio.out_of_core.cluster import connect, on_cluster

# Rows a task: sending a task to a worker and waiting for it costs milliseconds.
TASK_ROWS = 65_536


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


def _scan(shared: tuple[Chunks, Work], span: ChunkSpan, heard: Mask, *notes: Notes) -> ScanResult:
    """A pass over one chunk, on a worker."""
    chunks, work = shared
    return scan_blocks(chunks.read(span, heard), work, notes)

"""Processes of the Ray cluster that a test has started itself."""

from __future__ import annotations

import psutil


def workers_at(stage: str) -> list[int]:
    """Workers of this process's own cluster that are busy with a stage; their titles say so."""
    busy = []
    for process in psutil.Process().children(recursive=True):
        try:
            title = " ".join(process.cmdline())
        except psutil.Error:  # it has ended meanwhile
            continue
        if title.startswith(f"ray::{stage}"):
            busy.append(process.pid)
    return busy

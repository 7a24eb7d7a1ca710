"""A folder that a recorder writes into: every recording once it has stopped growing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event


def finished_files(
    list_files: Callable[[], Iterable[Path]],
    *,
    settle: float = 10.0,
    poll: float = 1.0,
    stop: Event | None = None,
) -> Iterator[Path]:
    """Recordings as they are finished, each once, until ``stop`` is set.

    A recording is finished when its size and time of change have stayed the same for ``settle``
    seconds. Those already there come first, the oldest before the newer. A file that is removed and
    written again comes again. Every ``poll`` seconds ``list_files`` is asked which recordings there
    are.
    """
    stop = stop or Event()
    growing: dict[Path, tuple[tuple[int, int], float]] = {}
    finished: set[Path] = set()
    while not stop.is_set():
        files = set(list_files())
        finished &= files
        growing = {path: state for path, state in growing.items() if path in files}
        ready = []
        for path in files - finished:
            if (stamp := _stamp(path)) is None:
                continue
            if path not in growing or growing[path][0] != stamp:
                # A file that was there before counts from its last change.
                age = 0.0 if path in growing else max(0.0, time.time() - stamp[1] / 1e9)
                growing[path] = stamp, time.monotonic() - age
            if time.monotonic() - growing[path][1] >= settle:
                ready.append((stamp[1], path))
        for _, path in sorted(ready):
            del growing[path]
            finished.add(path)
            yield path
            if stop.is_set():
                return
        stop.wait(poll)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Size and time of change; None for a file that is empty or gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if found.st_size else None

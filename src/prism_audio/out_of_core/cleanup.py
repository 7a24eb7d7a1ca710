"""Remove what a private Ray cluster leaves behind; run as a process of its own.

    python cleanup.py FOLDER

Waits for the end of its input, which is the end of the process that started the cluster, even if it was
killed. Then it ends those processes that still have FOLDER in their environment (some of Ray's
wait a minute for each other) and removes the folder. It needs the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "PRISM_RAY_FOLDER"
GRACE_SECONDS = 1.0
ATTEMPTS = 40


def remaining(folder: str) -> Iterator[int]:
    """Processes of the cluster with this folder; where there is no ``/proc``, none are seen."""
    mark = f"{VARIABLE}={folder}\0".encode()
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is another user's
            if mark in file.read_bytes() + b"\0":
                yield int(file.parent.name)


def main() -> None:
    """Wait, end the processes, remove the folder."""
    folder = sys.argv[1]
    sys.stdin.read()
    time.sleep(GRACE_SECONDS)  # most end by themselves, and write their last lines
    for _ in range(ATTEMPTS):
        processes = list(remaining(folder))
        for process in processes:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
        if not processes and not os.path.exists(folder):
            return
        time.sleep(0.5)


if __name__ == "__main__":
    main()

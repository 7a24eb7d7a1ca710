"""What this machine offers: usable cores, optional packages, onnxruntime without its telemetry."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from prism_audio.errors import PrismError


@cache
def usable_cores() -> int:
    """The number of cores this process may run on, looked up once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def import_extra(module: str, remedy: str, error: type[PrismError] = PrismError) -> Any:
    """Import an optional package; where it is missing, raise ``error`` with ``remedy`` for a text."""
    try:
        return import_module(module)
    except ImportError:
        raise error(remedy) from None


def import_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry switched off; every import of it goes through here.

    The published builds (seen in 1.31.1) write a device identifier and a database of events below
    the user's cache folder as soon as they are imported, and send them to their maker over HTTPS.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, when the library is loaded
    import onnxruntime

    # Where another program has imported it first, this stops all events but those already sent.
    onnxruntime.disable_telemetry_events()
    return onnxruntime

"""The folder for files that can be fetched or made again: ``PRISM_CACHE``, or the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(name: str = "") -> Path:
    """The cache folder of the user on this system, or its sub-folder ``name``; it need not exist."""
    if given := os.environ.get("PRISM_CACHE"):
        return Path(given).expanduser() / name
    from platformdirs import user_cache_path

    return user_cache_path("prism-audio", appauthor=False, opinion=False) / name

"""When a station calibrates its sources again."""

from __future__ import annotations

from enum import StrEnum


class When(StrEnum):
    """Every night, or when the sound has moved away from the calibration."""

    nightly = "nightly"
    drift = "drift"

"""Whether a calibration may be used, decided without labels.

Calibrated on few clips the method destroys the classifier. Until there is evidence that the batch
can carry a correction, the answer is the encoder's own: zero-shot.
"""

from __future__ import annotations

from typing import Any

CLIPS_PER_CLASS = 5


class Verdict(str):
    """One of ``"adapted"``, ``"shrunk"``, ``"zero-shot"``, with its reasons and numbers.

    It compares and prints as that word.
    """

    reasons: tuple[str, ...]
    numbers: dict[str, Any]

    def __new__(
        cls, kind: str, reasons: tuple[str, ...] = (), numbers: dict[str, Any] | None = None
    ) -> Verdict:
        if kind not in ("adapted", "shrunk", "zero-shot"):
            raise ValueError(f"a verdict is adapted, shrunk or zero-shot, not {kind!r}")
        verdict = super().__new__(cls, kind)
        verdict.reasons = reasons
        verdict.numbers = numbers or {}
        return verdict

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.reasons, self.numbers


def enough_clips(N: int, C: int) -> Verdict:
    """Zero-shot below :data:`CLIPS_PER_CLASS` clips a class, adapted from there on."""
    numbers = {"clips": N, "classes": C, "clips_per_class": N / C}
    if N < CLIPS_PER_CLASS * C:
        reason = (
            f"{N} clips for {C} classes is fewer than {CLIPS_PER_CLASS} a class; "
            f"calibrate on at least {CLIPS_PER_CLASS * C}"
        )
        return Verdict("zero-shot", (reason,), numbers)
    return Verdict("adapted", (f"{N / C:.0f} clips a class",), numbers)

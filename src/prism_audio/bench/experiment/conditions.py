"""The conditions of an experiment: a background and an SNR, and the recipe of the mixtures.

Every draw depends on the experiment's seed and the clip's number alone, so a clip meets the same
excerpt of a background at every SNR, and conditions can be compared clip by clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

CLEAN = "clean"
MIXED = "mixed"
# Treatments of the sound before the encoder; see ``embeddings.mixtures``.
FRONTS = ("noisereduce",)
# Raised when the same settings would give other samples.
_VERSION = 1
# The stream of random numbers that draws the SNR of a clip.
_WHICH_SNR = 2


class Condition(NamedTuple):
    """A background and an SNR in dB; ``mixed`` draws one of the SNRs for every clip.

    ``front`` names a treatment of the mixture before the encoder; none, if empty.
    """

    background: str
    snr: float | str
    front: str = ""

    @property
    def name(self) -> str:
        """For file names and tables, for example ``metro_-6dB``."""
        level = self.snr if isinstance(self.snr, str) else f"{self.snr:g}dB"
        place = CLEAN if self.background == CLEAN else f"{self.background}_{level}"
        return f"{place}_{self.front}" if self.front else place


@dataclass(frozen=True)
class Recipe:
    """How mixtures are made."""

    snrs: tuple[float, ...]  # the SNRs in dB, of which ``mixed`` draws
    # Background over the whole clip, or the clip as one event in a scene of ten seconds.
    kind: Literal["overlay", "scene"] = "overlay"
    level: Literal["rms", "lufs"] = "rms"  # how the level of a sound is measured
    seed: int = 0  # seed of every draw

    def facts(self, condition: Condition) -> dict[str, Any]:
        """The part of the recipe that the samples of this condition depend on."""
        if condition.background == CLEAN:
            return {"version": _VERSION, "snr": CLEAN, "front": condition.front}
        return {
            "version": _VERSION,
            "snr": list(self.snrs) if condition.snr == MIXED else condition.snr,
            "kind": self.kind,
            "level": self.level,
            "seed": self.seed,
            "front": condition.front,
        }

    def snr_of(self, condition: Condition, clip: int) -> float:
        """The SNR in dB at which clip number ``clip`` is mixed; NaN without background."""
        if condition.background == CLEAN:
            return float("nan")
        if condition.snr == MIXED:
            draw = np.random.default_rng((self.seed, clip, _WHICH_SNR)).integers(len(self.snrs))
            return float(self.snrs[draw])
        return float(condition.snr)

"""The conditions of an experiment: which background, at which SNR, and the mixture for a clip.

Every draw hangs on the experiment's seed and the clip's place in the dataset alone, so a clip meets
the same excerpt of a background at every SNR, and conditions can be compared clip by clip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from prism_audio.audio.decode import decode
from prism_audio.audio.mixing import mix
from prism_audio.bench.cache import file_digest
from prism_audio.errors import InputError

CLEAN = "clean"
MIXED = "mixed"
# Raised when the same settings would give other samples.
_VERSION = 1
# Streams of random numbers beside the one that the mixture itself draws from.
_WHICH_FILE, _WHICH_SNR = 1, 2


class Condition(NamedTuple):
    """A background and an SNR in dB; ``mixed`` draws one of the SNRs for every clip.

    ``front`` names what is done to the mixture before the encoder hears it; nothing, if empty.
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
    """How mixtures are made.

    Attributes
    ----------
    snrs : tuple of float
        The SNRs in dB, of which ``mixed`` draws.
    kind : {"overlay", "scene"}
        Background over the whole clip, or the clip as one event in a scene of ten seconds.
    level : {"rms", "lufs"}
        What the level of a sound is.
    seed : int
        From which every draw follows.
    """

    snrs: tuple[float, ...]
    kind: Literal["overlay", "scene"] = "overlay"
    level: Literal["rms", "lufs"] = "rms"
    seed: int = 0

    def facts(self, condition: Condition) -> dict[str, Any]:
        """Of the recipe, what the samples of this condition depend on."""
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


class Backgrounds:
    """Recordings of one place, decoded once."""

    def __init__(self, name: str, files: Sequence[Path], rate: int) -> None:
        if not files:
            raise InputError(f"the background {name!r} has no recording")
        self.name, self.files, self.rate = name, list(files), rate

    @cached_property
    def facts(self) -> list[str]:
        """What identifies the recordings."""
        return [file_digest(file) for file in self.files]

    @cached_property
    def sounds(self) -> list[mix.MixedSound]:
        """Mono at the encoder's rate."""
        return [
            mix.MixedSound(decode(file, self.rate), self.rate, {"file": str(file)})
            for file in self.files
        ]

    def pick(self, seed: int, clip: int) -> mix.MixedSound:
        """The recording that this clip meets; all are met about equally often."""
        sounds = self.sounds
        return sounds[np.random.default_rng((seed, clip, _WHICH_FILE)).integers(len(sounds))]


def snr_of(condition: Condition, recipe: Recipe, clip: int) -> float:
    """The SNR at which this clip is mixed; not a number where nothing is."""
    if condition.background == CLEAN:
        return float("nan")
    if condition.snr == MIXED:
        drawn = np.random.default_rng((recipe.seed, clip, _WHICH_SNR)).integers(len(recipe.snrs))
        return float(recipe.snrs[drawn])
    return float(condition.snr)


def mixture(
    sound: mix.MixedSound,
    clip: int,
    condition: Condition,
    recipe: Recipe,
    background: Backgrounds | None,
) -> np.ndarray:
    """The samples of clip number ``clip`` under a condition."""
    if background is None:
        return sound.samples
    noise = background.pick(recipe.seed, clip)
    make = mix.scene if recipe.kind == "scene" else mix.overlay
    snr = snr_of(condition, recipe, clip)
    seed = (recipe.seed, clip)
    return make(sound, noise, snr=snr, seed=seed, definition=recipe.level).samples

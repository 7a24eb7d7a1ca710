"""Mix clips with background recordings, and treat the mixture before the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from prism_audio.audio.decode import decode
from prism_audio.audio.mixing import mix
from prism_audio.bench.cache import file_digest
from prism_audio.bench.experiment.conditions import Condition, Recipe
from prism_audio.errors import InputError
from prism_audio.io.types import Float32

# The stream of random numbers that draws the recording for a clip.
_WHICH_FILE = 1


class Backgrounds:
    """Recordings of one place, decoded once."""

    def __init__(self, name: str, files: Sequence[Path], rate: int) -> None:
        if not files:
            raise InputError(f"the background {name!r} has no recording")
        self.name, self.files, self.rate = name, list(files), rate

    @cached_property
    def facts(self) -> list[str]:
        """Hashes that identify the recordings."""
        return [file_digest(file) for file in self.files]

    @cached_property
    def sounds(self) -> list[mix.MixedSound]:
        """Mono at the encoder's rate."""
        return [
            mix.MixedSound(decode(file, self.rate), self.rate, {"file": str(file)})
            for file in self.files
        ]

    def pick(self, seed: int, clip: int) -> mix.MixedSound:
        """The recording for this clip; all recordings are used about equally often."""
        sounds = self.sounds
        return sounds[np.random.default_rng((seed, clip, _WHICH_FILE)).integers(len(sounds))]


def mixture(
    sound: mix.MixedSound,
    clip: int,
    condition: Condition,
    recipe: Recipe,
    background: Backgrounds | None,
) -> Float32:
    """The samples of clip number ``clip`` under a condition, after the condition's treatment."""
    samples: Float32 = sound.samples
    if background is not None:
        noise = background.pick(recipe.seed, clip)
        make = mix.scene if recipe.kind == "scene" else mix.overlay
        snr, seed = recipe.snr_of(condition, clip), (recipe.seed, clip)
        samples = make(sound, noise, snr=snr, seed=seed, definition=recipe.level).samples
    if condition.front == "noisereduce":
        from prism_audio.methods.denoise import denoise

        return denoise(samples, sound.rate)
    return samples

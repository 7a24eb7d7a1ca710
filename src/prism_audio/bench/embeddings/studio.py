"""Embed a dataset under a condition: mix and embed once, then read from the cache."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from prism_audio.audio.decode import decode
from prism_audio.audio.mixing.mix import MixedSound
from prism_audio.audio.windows import encoder_windows
from prism_audio.bench.cache import Arrays, Cache, Facts, digest, file_digest
from prism_audio.bench.embeddings.mixtures import Backgrounds, mixture
from prism_audio.bench.experiment.conditions import CLEAN, Condition, Recipe
from prism_audio.encoders.prompts import SLOT, PromptSet, clean_label
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError, PrismError
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32
from prism_audio.methods import Context
from prism_audio.methods.das import NOISE_PHRASES

ROOM = "conditions"
# Memory for decoded clips; further clips are decoded again for every condition.
_MEMORY = 2 << 30

# Prompts about a place, for oracles.
PLACE_PROMPTS = ("the sound of {}", "background noise of {}", "a recording made in {}")
# Called with the number of clips, jobs or methods that were just finished.
Progress = Callable[[int], None]


def no_progress(count: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class ClassTexts:
    """Labels of the classes, and the prompts that they are put into."""

    labels: tuple[str, ...]
    prompts: PromptSet


class Sounds:
    """The sounds of a dataset, decoded on first use."""

    def __init__(self, files: Sequence[Path], rate: int) -> None:
        self.files, self.rate = list(files), rate
        self._decoded: dict[int, Float32] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def facts(self) -> str:
        """One hash of all files in their order."""
        with ThreadPoolExecutor(usable_cores()) as threads:
            return digest(list(threads.map(file_digest, self.files)))

    def __getitem__(self, clip: int) -> MixedSound:
        samples = self._decoded.get(clip)
        if samples is None:
            samples = decode(self.files[clip], self.rate)
            with self._lock:
                if self._bytes + samples.nbytes <= _MEMORY:
                    self._decoded[clip] = samples
                    self._bytes += samples.nbytes
        return MixedSound(samples, self.rate, {"file": str(self.files[clip])})


@dataclass(eq=False)
class Studio:
    """Makes the embeddings of any condition of one dataset, or reads them from the cache."""

    name: str
    sounds: Sounds
    backgrounds: dict[str, Backgrounds]
    recipe: Recipe
    encoder: Encoder
    cache: Cache
    texts: ClassTexts
    _contexts: dict[tuple[str, str], Context] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What the report says about the embeddings."""
        encoder = self.encoder
        words = f"Encoder: {encoder.id} ({encoder.dim} dimensions, {encoder.rate} Hz, fingerprint "
        words += f"{encoder.fingerprint[:12]})."
        if encoder.id == "concepts":
            words += (
                " It is a tagger's concept space, not CLAP: compare methods with each other, not its "
                "numbers with those of papers that use CLAP."
            )
        return words

    def facts(self, condition: Condition) -> Facts:
        """Everything the embeddings of a condition depend on."""
        noise = self.backgrounds.get(condition.background)
        return {
            "clips": self.sounds.facts,
            "background": noise.facts if noise else CLEAN,
            "recipe": self.recipe.facts(condition),
            "encoder": self.encoder.fingerprint,
        }

    def path(self, condition: Condition) -> Path:
        """Its file in the cache."""
        name = f"{self.name}-{condition.name}"
        return self.cache.path(ROOM, name, self.facts(condition))

    def embedding(self, condition: Condition, progress: Progress = no_progress) -> Float32:
        """Unit rows (N, d) in the order of the dataset; ``progress`` counts clips."""
        return self.arrays(condition, progress)["embedding"]

    def arrays(self, condition: Condition, progress: Progress = no_progress) -> Arrays:
        """Everything that the cache keeps of a condition.

        ``embedding`` (N, d); ``features`` (N, f), the encoder's features before pooling, averaged over
        the windows of a clip by their seconds; ``snr`` (N,) in dB, NaN without background.
        """
        facts, name = self.facts(condition), f"{self.name}-{condition.name}"
        arrays = self.cache.load(ROOM, name, facts)
        if arrays is None:
            arrays = self._make(condition, progress)
            self.cache.save(ROOM, name, facts, arrays)
        return arrays

    def context(self, needs: str, place: str) -> Context:
        """What a method needs besides embeddings and prototypes: about the place, or about classes."""
        key = (needs, place if needs.startswith("background") else "")
        if key not in self._contexts:
            self._contexts[key] = Context(**{needs: self._knowledge(needs, place)})
        return self._contexts[key]

    def _knowledge(self, needs: str, place: str) -> Float32:
        if needs == "background_audio":
            return self.place(place)
        if needs == "background_text":
            prompts = [prompt.format(clean_label(place)) for prompt in PLACE_PROMPTS]
            return self.encoder.embed_text(prompts)
        templates = self.texts.prompts.templates
        if needs == "noise_text":
            templates = tuple(f"{SLOT} with {phrase}" for phrase in NOISE_PHRASES)
        texts = [
            template.replace(SLOT, label) for template in templates for label in self.texts.labels
        ]
        rows = self.encoder.embed_text(texts)
        return rows.reshape(len(templates), len(self.texts.labels), -1)

    def place(self, background: str) -> Float32:
        """Unit rows of the background's own recordings, without any clip."""
        noise = self.backgrounds[background]
        facts = {"background": noise.facts, "encoder": self.encoder.fingerprint}
        arrays = self.cache.load("backgrounds", background, facts)
        if arrays is None:
            rows = [self._features(sound.samples) for sound in noise.sounds]
            arrays = {"embedding": np.stack([self._pooled(row) for row in rows])}
            self.cache.save("backgrounds", background, facts, arrays)
        return arrays["embedding"]

    def _make(self, condition: Condition, progress: Progress) -> Arrays:
        noise = self.backgrounds.get(condition.background)
        failures: dict[int, str] = {}

        def one(clip: int) -> tuple[Float32, Float32, float] | None:
            try:
                samples = mixture(self.sounds[clip], clip, condition, self.recipe, noise)
                row = self._features(samples)
                return self._pooled(row), row, self.recipe.snr_of(condition, clip)
            except PrismError as error:
                failures[clip] = str(error)
                return None
            finally:
                progress(1)

        # One more than cores: one thread mixes while the others wait for the encoder.
        threads = ThreadPoolExecutor(usable_cores() + 1)
        try:
            rows = list(threads.map(one, range(len(self.sounds))))
        finally:
            threads.shutdown(cancel_futures=True)
        if failures:
            raise self._refused(failures)
        embedding, features, snr = zip(*(row for row in rows if row), strict=True)
        return {
            "embedding": np.stack(embedding),
            "features": np.stack(features),
            "snr": np.array(snr, np.float32),
        }

    def _refused(self, failures: dict[int, str]) -> InputError:
        """One error for all clips that failed, so that one run shows all of them."""
        names = [self.sounds.files[clip].stem for clip in sorted(failures)]
        listed = "\n".join(f"  {failures[clip]}" for clip in sorted(failures)[:10])
        told = f"{len(failures)} of {len(self.sounds)} clips cannot be used:\n{listed}\n"
        if len(failures) == len(self.sounds):
            return InputError(f"{told}None can: the reason above is not in the clips alone")
        return InputError(
            f"{told}Replace them, or leave them out of the experiment: leave_out = {json.dumps(names)}"
        )

    def _features(self, samples: Float32) -> Float32:
        windows = list(encoder_windows(self.encoder, (samples, self.encoder.rate)))
        features = self.encoder.embed_windows(np.stack([window.samples for window in windows]))
        weights = np.array([window.weight for window in windows])
        mean = weights @ features.astype(np.float64) / weights.sum()
        return np.asarray(mean, np.float32)

    def _pooled(self, row: Float32) -> Float32:
        return self.encoder.pool(row[None], np.ones(1, np.float32))

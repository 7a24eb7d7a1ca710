"""Embeddings of a dataset under a condition: mixed and embedded once, then read from the cache."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.decode import decode
from prism_audio.audio.mixing.mix import MixedSound
from prism_audio.bench.cache import Cache, Facts, digest, file_digest
from prism_audio.bench.conditions import CLEAN, Backgrounds, Condition, Recipe, mixture, snr_of
from prism_audio.bench.fronts import FRONTS
from prism_audio.encoders.embedding.windows import encoder_windows
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError, PrismError
from prism_audio.io.runtime import usable_cores

ROOM = "conditions"
# Decoded clips that are kept in memory; those beyond it are decoded again for every condition.
_KEPT_BYTES = 2 << 30

Told = Callable[[int], None]


@dataclass(frozen=True)
class Embedded:
    """A dataset under a condition.

    Attributes
    ----------
    embedding : (N, d) float32
        Unit rows in the order of the dataset.
    features : (N, f) float32
        The encoder's features of each clip: the mean over its windows, weighted by their seconds.
        ``encoder.pool`` makes the embedding from it.
    snr : (N,) float32
        The SNR of each clip in dB; not a number in the clean condition.
    """

    embedding: NDArray[np.float32]
    features: NDArray[np.float32]
    snr: NDArray[np.float32]


class Clips:
    """The sounds of a dataset, each decoded when it is first asked for."""

    def __init__(self, files: Sequence[Path], rate: int) -> None:
        self.files, self.rate = list(files), rate
        self._kept: dict[int, NDArray[np.float32]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def facts(self) -> str:
        """What identifies the clips and their order: one hash of all files."""
        with ThreadPoolExecutor(usable_cores()) as threads:
            return digest(list(threads.map(file_digest, self.files)))

    def __getitem__(self, clip: int) -> MixedSound:
        samples = self._kept.get(clip)
        if samples is None:
            samples = decode(self.files[clip], self.rate)
            with self._lock:
                if self._bytes + samples.nbytes <= _KEPT_BYTES:
                    self._kept[clip] = samples
                    self._bytes += samples.nbytes
        return MixedSound(samples, self.rate, {"file": str(self.files[clip])})


class Studio:
    """Makes the embeddings of any condition of one dataset, or finds them in the cache."""

    def __init__(
        self,
        name: str,
        clips: Clips,
        backgrounds: dict[str, Backgrounds],
        recipe: Recipe,
        encoder: Encoder,
        cache: Cache,
    ) -> None:
        self.name, self.clips, self.backgrounds = name, clips, backgrounds
        self.recipe, self.encoder, self.cache = recipe, encoder, cache

    def facts(self, condition: Condition) -> Facts:
        """Everything the embeddings of a condition depend on."""
        noise = self.backgrounds.get(condition.background)
        return {
            "clips": self.clips.facts,
            "background": noise.facts if noise else CLEAN,
            "recipe": self.recipe.facts(condition),
            "encoder": self.encoder.fingerprint,
        }

    def path(self, condition: Condition) -> Path:
        """Where the cache keeps it, or will."""
        name = f"{self.name}-{condition.name}"
        return self.cache.path(ROOM, name, self.facts(condition), ".safetensors")

    def embedded(self, condition: Condition, told: Told = lambda clips: None) -> Embedded:
        """The embeddings of a condition; ``told`` hears how many clips are newly done."""
        facts, name = self.facts(condition), f"{self.name}-{condition.name}"
        arrays = self.cache.load(ROOM, name, facts)
        if arrays is None:
            made = self._make(condition, told)
            arrays = {
                "embedding": made.embedding,
                "features": made.features,
                "snr": made.snr,
            }
            self.cache.save(ROOM, name, facts, arrays)
        return Embedded(**arrays)

    def place(self, background: str) -> NDArray[np.float32]:
        """Unit rows of the background's own recordings, without any clip."""
        noise = self.backgrounds[background]
        facts = {"background": noise.facts, "encoder": self.encoder.fingerprint}
        arrays = self.cache.load("backgrounds", background, facts)
        if arrays is None:
            rows = [self._features(sound.samples) for sound in noise.sounds]
            arrays = {"embedding": np.stack([self._pooled(row) for row in rows])}
            self.cache.save("backgrounds", background, facts, arrays)
        return arrays["embedding"]

    def _make(self, condition: Condition, told: Told) -> Embedded:
        noise = self.backgrounds.get(condition.background)
        front = FRONTS[condition.front]

        failed: dict[int, str] = {}

        def one(clip: int) -> tuple[NDArray[np.float32], NDArray[np.float32], float] | None:
            try:
                samples = mixture(self.clips[clip], clip, condition, self.recipe, noise)
                row = self._features(front(samples, self.encoder.rate))
                return self._pooled(row), row, snr_of(condition, self.recipe, clip)
            except PrismError as error:
                failed[clip] = str(error)
                return None
            finally:
                told(1)

        # One more than cores: a thread that mixes while the others wait for the encoder.
        threads = ThreadPoolExecutor(usable_cores() + 1)
        try:
            rows = list(threads.map(one, range(len(self.clips))))
        finally:
            threads.shutdown(cancel_futures=True)
        if failed:
            raise self._refused(failed)
        embedding, features, snr = zip(*(row for row in rows if row), strict=True)
        return Embedded(np.stack(embedding), np.stack(features), np.array(snr, np.float32))

    def _refused(self, failed: dict[int, str]) -> InputError:
        """All clips that failed at once: nobody wants to learn of them one run at a time."""
        names = [self.clips.files[clip].stem for clip in sorted(failed)]
        listed = "\n".join(f"  {failed[clip]}" for clip in sorted(failed)[:10])
        return InputError(
            f"{len(failed)} of {len(self.clips)} clips cannot be used:\n{listed}\n"
            f"Replace them, or leave them out of the experiment: leave_out = {json.dumps(names)}"
        )

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        windows = list(encoder_windows(self.encoder, (samples, self.encoder.rate)))
        features = self.encoder.embed_windows(np.stack([window.samples for window in windows]))
        weights = np.array([window.weight for window in windows])
        mean = weights @ features.astype(np.float64) / weights.sum()
        return np.asarray(mean, np.float32)

    def _pooled(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.encoder.pool(row[None], np.ones(1, np.float32))

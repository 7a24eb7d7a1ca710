"""How far an exported encoder is from the one it was made of: in cosine, and in labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from prism_audio.encoders.clap.base import ClapBase
from prism_audio.encoders.prompts import PromptSet, prototypes
from prism_audio.io.types import Float32

# Everyday sounds, to compare on where the user names none.
LABELS = (
    "dog bark, cat meowing, bird song, rooster, cow, frog, insects, rain, wind, thunder, sea waves, "
    "stream, fire, footsteps, breathing, coughing, laughter, crying baby, applause, speech, singing, "
    "whispering, snoring, door knock, door creak, glass breaking, keyboard typing, mouse click, "
    "clock ticking, alarm clock, vacuum cleaner, washing machine, water tap, toilet flush, can "
    "opening, engine idling, car horn, siren, train, aeroplane, helicopter, chainsaw, hand saw, "
    "drilling, jackhammer, gunshot, fireworks, church bells, violin, drum"
)


class Probe(NamedTuple):
    """What two encoders are compared on: windows of sound, and labels."""

    windows: Float32
    labels: Sequence[str]


@dataclass(frozen=True)
class Drift:
    """The difference between two encoders."""

    # 1 - cosine between the two embeddings of a sound or text: the mean, and the largest.
    audio: tuple[float, float]
    text: tuple[float, float]
    same: float  # share of the sounds to which both give the same label
    # How many were compared.
    sounds: int
    texts: int

    @property
    def worst(self) -> float:
        """The largest difference in cosine."""
        return max(self.audio[1], self.text[1])

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        parts = {
            name: {"mean": float(f"{mean:.3g}"), "largest": float(f"{largest:.3g}")}
            for name, (mean, largest) in (("audio", self.audio), ("text", self.text))
        }
        return {
            "one_minus_cosine": parts,
            "same_label": round(self.same, 4),
            "sounds": self.sounds,
            "texts": self.texts,
        }


def measure_drift(before: ClapBase, after: ClapBase, probe: Probe) -> Drift:
    """Compare two encoders on the same sounds and labels."""
    prompts = PromptSet.load("plain")
    sounds = [encoder.embed_windows(probe.windows) for encoder in (before, after)]
    texts = [prototypes(encoder, probe.labels, prompts) for encoder in (before, after)]
    chosen = [(E @ T.T).argmax(axis=1) for E, T in zip(sounds, texts, strict=True)]
    return Drift(
        audio=_apart(*sounds),
        text=_apart(*texts),
        same=float((chosen[0] == chosen[1]).mean()),
        sounds=len(probe.windows),
        texts=len(probe.labels),
    )


def _apart(one: Float32, other: Float32) -> tuple[float, float]:
    # For unit rows; the plain 1 - cosine would lose small differences to rounding.
    apart = ((one.astype(np.float64) - other) ** 2).sum(axis=1) / 2
    return float(apart.mean()), float(apart.max())


def made_sounds(encoder: ClapBase, count: int = 24) -> Float32:
    """Windows of noise of several colours, tones, sweeps and clicks, of 0.2 s to a whole window."""
    chance = np.random.default_rng(0)
    full = encoder.mel.samples
    windows = []
    for number in range(count):
        samples = round(full * (0.02 + 0.98 * number / max(1, count - 1)))
        time = np.arange(samples) / encoder.rate
        pitch, beat = chance.uniform(80, 6000), chance.uniform(0.3, 8)
        noise = chance.standard_normal(samples)
        sound = [
            noise,
            np.cumsum(noise) / 50,
            np.sin(2 * np.pi * pitch * time) * np.sin(np.pi * beat * time) ** 2,
            np.sin(2 * np.pi * pitch * time * (1 + beat * time)),
            (chance.random(samples) < 1e-4) * 5.0 + 0.01 * noise,
            noise * np.exp(-beat * (time % 1)),
        ][number % 6]
        loudness = 10 ** chance.uniform(-2.5, -0.5)
        scaled = loudness * sound / (np.abs(sound).max() + 1e-9)
        windows.append(encoder.pad(scaled.astype(np.float32)))
    return np.stack(windows)

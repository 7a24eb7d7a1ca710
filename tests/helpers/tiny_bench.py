"""A small world for the bench: tones to be heard, noisy places, and an encoder that knows both."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile

from prism_audio.bench.cache import Cache
from prism_audio.bench.embeddings.assemble import assemble
from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.experiment.conditions import Recipe
from prism_audio.bench.experiment.experiment import Experiment, Spec
from prism_audio.bench.experiment.reader import PROTOCOLS
from prism_audio.io.types import Float32

RATE = 8000
CLASSES = 4
FOLDS = 2
PER_FOLD = 5
BANDS = 8


class BandEncoder:
    """Energy in eight bands; the text ``tone 3`` means the fourth band."""

    id = "bands"
    fingerprint = "bands-1"
    dim = BANDS
    rate = RATE
    window = 0.5
    hop = 0.5

    def __init__(self) -> None:
        self.calls = 0

    def embed_windows(self, windows: Float32) -> Float32:
        self.calls += 1
        power = np.abs(np.fft.rfft(windows, axis=1)[:, :2000]) ** 2
        bands = power.reshape(len(windows), BANDS, -1).sum(axis=2)
        return (bands / (bands.sum(axis=1, keepdims=True) + 1e-9)).astype(np.float32)

    def pool(self, features: Float32, weights: Float32) -> Float32:
        row = np.log(np.average(features.astype(np.float64), axis=0, weights=weights) + 1e-3)
        row -= row.mean()
        return (row / np.linalg.norm(row)).astype(np.float32)

    def embed_text(self, texts: Sequence[str]) -> Float32:
        rows = np.full((len(texts), BANDS), -1 / BANDS)
        for row, text in zip(rows, texts, strict=True):
            number = re.search(r"\d", text)
            row[int(number[0]) if number else BANDS - 1] += 1
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def tone(number: int, seed: int, seconds: float = 1.0) -> np.ndarray:
    """A tone within band ``number``, with a little noise."""
    random = np.random.default_rng((seed, number))
    hertz = (number + random.uniform(0.3, 0.7)) * RATE / 2 / BANDS
    time = np.arange(round(seconds * RATE)) / RATE
    return 0.2 * np.sin(2 * np.pi * hertz * time) + 0.01 * random.standard_normal(len(time))


def dataset(folder: Path) -> Path:
    """Tones in the layout of ESC-50."""
    (folder / "audio").mkdir(parents=True)
    rows = []
    for fold in range(1, FOLDS + 1):
        for take in range(PER_FOLD):
            for number in range(CLASSES):
                name = f"{fold}-{take}-A-{number}.wav"
                soundfile.write(folder / "audio" / name, tone(number, 10 * fold + take), RATE)
                rows.append((name, fold, number, f"tone_{number}", False, f"{fold}{take}", "A"))
    with (folder / "esc50.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("filename", "fold", "target", "category", "esc10", "src_file", "take"))
        table.writerows(rows)
    return folder


def backgrounds(folder: Path) -> Path:
    """Two places: a hum in the low bands, and a hiss."""
    random = np.random.default_rng(5)
    for place, files in (("cellar", 2), ("shore", 1)):
        (folder / place).mkdir(parents=True)
        for number in range(files):
            hiss = 0.1 * random.standard_normal(3 * RATE)
            if place == "cellar":
                hiss = np.convolve(hiss, np.ones(12) / 12, mode="same")
            soundfile.write(folder / place / f"{number}.wav", hiss, RATE)
    return folder


def experiment(**changes: object) -> Experiment:
    """All protocols, few methods."""
    settings: dict[str, object] = {
        "name": "tiny",
        "title": "Tones",
        "dataset": "esc50",
        "encoder": "bands",
        "prompts": "plain",
        "recipe": Recipe((-6.0, 6.0), seed=3),
        "leave_out": (),
        "places": (),
        "clean": True,
        "mixed": True,
        "fronts": (),
        "methods": (
            Spec("zero_shot"),
            Spec("contextda_audio"),
            Spec("sinkhorn"),
            Spec("prism_paper", {"K": 2}),
            Spec("prism"),
        ),
        "focus": ("zero_shot", "sinkhorn", "prism_paper", "prism"),
        "ours": "prism",
        "protocols": PROTOCOLS,
        "studies": (),
    }
    return Experiment(**{**settings, **changes})  # type: ignore[arg-type]


def world(folder: Path, encoder: BandEncoder | None = None, **changes: object) -> Bench:
    """A bench in a folder; made anew it finds what was there."""
    if not (folder / "data").exists():
        dataset(folder / "data")
        backgrounds(folder / "places")
    return assemble(
        experiment(**changes),
        folder / "data",
        folder / "places",
        encoder or BandEncoder(),
        Cache(folder / "cache"),
    )

"""The two demonstrations behind ``prism demo``; every number is computed when they run.

1. Real embeddings: the 2000 clips of ESC-50 in street noise, embedded with this package and shipped in
   it. Accuracy before and after, and a picture of the confusions.
2. Synthetic sounds (:mod:`prism_audio.demo.sounds`) mixed with noise, from samples to labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.demo.sounds import SOUNDS, pink_noise, render
from prism_audio.model.estimator import PRISM

SNR_DB = 0.0
CLIPS_PER_SOUND = 30
RATE = 16_000


@dataclass(frozen=True)
class DemoResult:
    """The outcome of one demonstration; ``before`` and ``after`` are percent of right labels."""

    title: str
    encoder: str
    clips: int
    classes: int
    before: float
    after: float
    verdict: str
    reasons: tuple[str, ...]
    files: tuple[str, ...]


def real_embeddings(folder: Path) -> DemoResult:
    """ESC-50 in street noise, from the embeddings that ship with the package."""
    from safetensors import safe_open

    with safe_open(
        str(files("prism_audio.demo") / "data" / "esc50_street.safetensors"), "np"
    ) as shipped:
        about = shipped.metadata()
        E = shipped.get_tensor("embeddings").astype(np.float32)
        T, truth = shipped.get_tensor("prototypes"), shipped.get_tensor("truth")
    labels = about["labels"].split("\n")
    return _calibrate(about["title"], about["encoder"], E, T, truth, labels, folder, "esc50")


def synthetic_sounds(folder: Path, seed: int) -> DemoResult:
    """The synthetic sounds in pink noise at 0 dB, embedded by the default encoder."""
    from prism_audio.encoders import embed_audio
    from prism_audio.encoders.prompts import PromptSet, prototypes
    from prism_audio.encoders.registry import load_encoder

    encoder = load_encoder("concepts")
    labels = list(SOUNDS)
    truth = np.repeat(np.arange(len(labels)), CLIPS_PER_SOUND)
    clips = [
        (noisy(labels[c], seed * CLIPS_PER_SOUND + k % CLIPS_PER_SOUND), RATE)
        for k, c in enumerate(truth)
    ]
    E = embed_audio(encoder, clips)
    T = prototypes(encoder, labels, PromptSet.load("sentences"))
    title = f"Synthetic sounds in pink noise at {SNR_DB:g} dB (rendered, not recorded)"
    return _calibrate(title, encoder.id, E, T, truth, labels, folder, "synthetic")


def noisy(name: str, seed: int) -> NDArray[np.float32]:
    """A synthetic clip in pink noise at a signal-to-noise ratio of :data:`SNR_DB`."""
    sound = render(name, seed, rate=RATE).astype(np.float64)
    rng = np.random.default_rng([seed, 1, *name.encode()])
    noise = pink_noise(rng, len(sound))
    noise *= np.sqrt(np.mean(sound**2)) * 10 ** (-SNR_DB / 20)
    mixed = sound + noise
    return (mixed / max(1.0, float(np.abs(mixed).max()))).astype(np.float32)


def _calibrate(
    title: str,
    encoder: str,
    E: NDArray[np.float32],
    T: NDArray[np.float32],
    truth: NDArray[Any],
    labels: list[str],
    folder: Path,
    name: str,
) -> DemoResult:
    """Calibrate on a problem with known answers; write the adapter and a picture to ``folder``."""
    model = PRISM().fit(E, prototypes=T, labels=labels)
    before, after = np.argmax(E @ T.T, axis=1), model.predict(E)
    adapter = model.adapter_.save(folder / f"{name}.safetensors")
    picture = folder / f"{name}-confusions.svg"
    write_confusions(picture, truth, before, after, labels)
    return DemoResult(
        title,
        encoder,
        len(E),
        len(labels),
        100 * float(np.mean(before == truth)),
        100 * float(np.mean(after == truth)),
        str(model.verdict_),
        model.verdict_.reasons,
        (str(adapter), str(picture)),
    )


def write_confusions(
    path: Path,
    truth: NDArray[Any],
    before: NDArray[Any],
    after: NDArray[Any],
    labels: list[str],
) -> None:
    """Write two confusion matrices side by side as SVG; this needs no plotting library."""
    from html import escape

    from prism_audio.io.atomic import atomic_write

    C = len(labels)
    cell = max(6, min(24, 480 // C))
    left, top, gap = 150, 60, 40
    side = C * cell
    width, height = left + 2 * side + gap + 20, top + side + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for k, (name, guess) in enumerate((("zero-shot", before), ("after PRISM", after))):
        x0 = left + k * (side + gap)
        right = 100 * np.mean(guess == truth)
        parts.append(
            f'<text x="{x0}" y="{top - 20}" font-size="18">{name}: {right:.1f} % right</text>'
            f'<rect x="{x0}" y="{top}" width="{side}" height="{side}" fill="#f2f4f8"/>'
        )
        counts = np.zeros((C, C))
        np.add.at(counts, (truth, guess), 1)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        for i, j in np.argwhere(share > 0.005):
            colour = "#0b6e4f" if i == j else "#c8401f"
            parts.append(
                f'<rect x="{x0 + j * cell}" y="{top + i * cell}" width="{cell}" height="{cell}" '
                f'fill="{colour}" fill-opacity="{0.15 + 0.85 * share[i, j]:.2f}">'
                f"<title>{escape(labels[i])} labelled {escape(labels[j])}: {100 * share[i, j]:.0f} %"
                "</title></rect>"
            )
    for i, label in enumerate(labels):
        parts.append(
            f'<text x="{left - 6}" y="{top + (i + 0.75) * cell:.1f}" text-anchor="end" '
            f'font-size="{min(cell, 13)}">{escape(label)}</text>'
        )
    parts.append(
        f'<text x="{left}" y="{top + side + 26}" font-size="13" fill="#555">'
        "row: true class; column: predicted class; green: right, red: wrong</text></svg>"
    )
    with atomic_write(path) as file:
        file.write("\n".join(parts).encode())

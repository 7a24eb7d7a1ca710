"""What the guard is measured on: cached conditions of ESC-50, its labels, and four more spaces."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

# Constants were chosen on these backgrounds (and clean); the others only check them.
CHOSEN_ON = ("clean", "airport", "metro")
# Backgrounds and noise levels; other front ends that a cache may hold are not ours.
LEVELS = re.compile(r"esc50-(clean|\w+_(?:-?\d+dB|mixed))-[0-9a-f]+")


@dataclass(frozen=True)
class Sounds:
    """Everything a study needs besides a condition.

    Attributes
    ----------
    files : dict of str to Path
        The cached embeddings of every condition.
    truth : (N,) array
        Class of every clip.
    text : (C, d) array
        Unit text embeddings of the classes.
    """

    files: dict[str, Path]
    truth: np.ndarray
    text: np.ndarray


def load_sounds(conditions: Path, esc50: Path) -> Sounds:
    """The conditions of a folder that ``prism bench`` has filled, with labels and prototypes."""
    from prism_audio.encoders import load_encoder
    from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes

    named = [(LEVELS.fullmatch(path.stem), path) for path in sorted(conditions.glob("*"))]
    files = {match[1]: path for match, path in named if match}
    if not files:
        raise SystemExit(f"{conditions} holds no conditions of ESC-50; 'prism bench' makes them")
    tables = [path for path in (esc50 / "esc50.csv", esc50 / "meta/esc50.csv") if path.exists()]
    if not tables:
        raise SystemExit(f"{esc50} holds no esc50.csv; give the folder of ESC-50")
    with tables[0].open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = {int(row["target"]): clean_label(row["category"]) for row in rows}
    labels = [names[index] for index in sorted(names)]
    text = prototypes(load_encoder("concepts"), labels, PromptSet.load("paper"))
    return Sounds(files, np.array([int(row["target"]) for row in rows]), text)


@lru_cache(maxsize=2)
def load_condition(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Unit embeddings (N, d) and the features (N, 521) that they come from."""
    from safetensors.numpy import load_file

    arrays = load_file(path)
    return arrays["embedding"], arrays["features"]


def spaces(
    E: np.ndarray, features: np.ndarray, text: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The embedded space and four others from the same towers, each with audio and text rows."""
    from prism_audio.encoders.concepts.encoder import space

    V = _unit(space().vectors)
    P = text / text.sum(axis=1, keepdims=True)  # a label as a mixture of concepts
    Q = np.random.default_rng(0).standard_normal((E.shape[1], 256))
    pairs = {
        "concepts": (E, text),
        "probabilities x concept texts": (features @ V, P @ V),
        "the same, centred": (features @ (V - V.mean(axis=0)), P @ (V - V.mean(axis=0))),
        "square-rooted probabilities": (np.sqrt(features), np.sqrt(P)),
        "random projection to 256": (E @ Q, text @ Q),
    }
    return {name: (_unit(audio), _unit(words)) for name, (audio, words) in pairs.items()}


def background(condition: str) -> str:
    """``street_traffic`` of ``street_traffic_-6dB``."""
    return condition.rsplit("_", 1)[0]


def some_level(condition: str) -> bool:
    """Whether it is clean, mixed, or at -6, 0 or 10 dB."""
    return condition.endswith(("clean", "mixed", "_-6dB", "_0dB", "_10dB"))


def _unit(X: np.ndarray) -> np.ndarray:
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)

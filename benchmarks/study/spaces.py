"""What the study measures on: ESC-50 in four audio-text spaces, clean and in noise.

``laion`` is true CLAP, ``near`` a tagger's features taken into CLAP's space, ``moved`` true CLAP moved
by what noise does there, ``concepts`` the embedded encoder. The first three are array files (E, T, y);
the last is the cache of ``prism bench experiments/esc50.toml`` with the folder of ESC-50.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

LEVELS = re.compile(r"esc50-(clean|\w+_(?:-?\d+dB|mixed))-[0-9a-f]+")
FILES = {"esc50_laion": "laion", "esc50_like": "near", "esc50_shifted": "moved"}


@dataclass(frozen=True, eq=False)
class Sounds:
    """Where every condition lies, by its name ``space:condition``.

    Attributes
    ----------
    files : dict of str to Path
        Array files, or embeddings in the cache.
    truth, text : arrays
        Classes (N,) and prototypes (C, d) of the conditions in the cache.
    """

    files: dict[str, Path]
    truth: np.ndarray
    text: np.ndarray


def load_sounds(clap: Path, conditions: Path, esc50: Path) -> Sounds:
    """All conditions of the three folders."""
    files: dict[str, Path] = {}
    for path in sorted(clap.glob("esc50_*.npz")):
        stem = next(stem for stem in FILES if path.stem.startswith(stem))
        files[f"{FILES[stem]}:{path.stem[len(stem) + 1 :] or 'clean'}"] = path
    if not files:
        raise SystemExit(f"{clap} holds no esc50_*.npz")
    named = [(LEVELS.fullmatch(path.stem), path) for path in sorted(conditions.glob("*"))]
    cached = {f"concepts:{match[1]}": path for match, path in named if match}
    if not cached:
        raise SystemExit(
            f"{conditions} holds no esc50-*.safetensors; prism bench experiments/esc50.toml"
            " --cache FOLDER makes them in FOLDER/conditions"
        )
    files |= cached
    truth, text = _concepts(esc50)
    return Sounds(files, truth, text)


def _concepts(esc50: Path) -> tuple[np.ndarray, np.ndarray]:
    from prism_audio.encoders import load_encoder
    from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes

    tables = [path for path in (esc50 / "esc50.csv", esc50 / "meta/esc50.csv") if path.exists()]
    if not tables:
        raise SystemExit(f"{esc50} holds no esc50.csv; give the folder of ESC-50")
    with tables[0].open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = {int(row["target"]): clean_label(row["category"]) for row in rows}
    labels = [names[index] for index in sorted(names)]
    text = prototypes(load_encoder("concepts"), labels, PromptSet.load("paper"))
    return np.array([int(row["target"]) for row in rows]), text


@lru_cache(maxsize=2)
def load_condition(sounds: Sounds, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit rows E (N, d), unit prototypes T (50, d) and classes y (N,) of a condition."""
    path = sounds.files[name]
    if path.suffix == ".npz":
        # Text and classes are those of the clean clips, and stand in that file alone.
        clean = np.load(path.with_name("esc50_laion.npz"), allow_pickle=False)
        rows = np.load(path, allow_pickle=False)["E"]
        return unit(rows), unit(clean["T"]), clean["y"].astype(int)
    from safetensors.numpy import load_file

    return unit(load_file(path)["embedding"]), unit(sounds.text), sounds.truth


def unit(X: np.ndarray) -> np.ndarray:
    """Unit rows in float32."""
    X = X.astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def space(name: str) -> str:
    """``near`` of ``near:park_mixed``."""
    return name.split(":")[0]


def some(name: str) -> bool:
    """Whether a condition is one of those that the long studies draw from."""
    return name in (
        "laion:clean",
        *(f"near:{c}" for c in ("clean", "metro_mixed", "park_mixed", "street_traffic_-6dB")),
        *(f"moved:{c}" for c in ("airport_mixed", "street_traffic_mixed", "street_traffic_-6dB")),
        *(f"concepts:{c}" for c in ("clean", "airport_mixed", "bus_mixed", "park_mixed")),
    )

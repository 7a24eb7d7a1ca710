"""Prepare an experiment: find its clips and backgrounds, and embed the names of its classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TypeVar

import numpy as np

from prism_audio.bench.cache import Cache
from prism_audio.bench.embeddings.bench import Bench
from prism_audio.bench.embeddings.mixtures import Backgrounds
from prism_audio.bench.embeddings.studio import ClassTexts, Sounds, Studio
from prism_audio.bench.experiment.experiment import Experiment
from prism_audio.bench.experiment.protocols import ClipTable
from prism_audio.datasets.esc50 import load_esc50
from prism_audio.datasets.folder import class_folders
from prism_audio.datasets.published import Published
from prism_audio.datasets.tau2019 import load_tau2019, tau_backgrounds
from prism_audio.datasets.us8k import load_us8k
from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError

T = TypeVar("T")

_FOLDS = 5


def assemble(
    experiment: Experiment,
    data_folder: str | os.PathLike[str],
    background_folder: str | os.PathLike[str] | None,
    encoder: Encoder,
    cache: Cache,
    quick: bool = False,
) -> Bench:
    """Find the clips and the backgrounds, and embed the names of the classes.

    With ``quick``: one fold, two places, two SNRs.
    """
    data = load_dataset(experiment.dataset, data_folder)
    data = _only(data, [file.stem not in experiment.leave_out for file in data.files])
    places = load_backgrounds(background_folder) if background_folder else {}
    if not places and experiment.recipe.snrs:
        raise InputError(
            f"the experiment {experiment.name} mixes at {len(experiment.recipe.snrs)} SNRs; "
            "give the folder of backgrounds with --backgrounds"
        )
    experiment = experiment.with_places(list(places))
    if quick:
        experiment = experiment.small_part()
        data = _only(data, [fold == min(data.folds) for fold in data.folds])
    backgrounds = {
        place: Backgrounds(place, places[place], encoder.rate) for place in experiment.places
    }
    sounds = Sounds(data.files, encoder.rate)
    labels = [clean_label(name) for name in data.classes]
    texts = ClassTexts(tuple(labels), PromptSet.load(experiment.prompts))
    studio = Studio(experiment.name, sounds, backgrounds, experiment.recipe, encoder, cache, texts)
    text = prototypes(encoder, labels, texts.prompts)
    clips = ClipTable(
        np.array(data.labels), np.array(data.folds), experiment.recipe.seed, tuple(data.groups)
    )
    _, sources = np.unique(data.sources or np.arange(len(data)), return_inverse=True)
    return Bench(experiment, studio, text, clips, sources, data.classes, {})


def load_dataset(kind: str, folder: str | os.PathLike[str]) -> Published:
    """A dataset of one of the known layouts."""
    readers: dict[str, Callable[[str | os.PathLike[str]], Published]] = {
        "esc50": load_esc50,
        "us8k": load_us8k,
        "tau2019": load_tau2019,
        "folder": _load_folder,
    }
    return readers[kind](folder)


def load_backgrounds(folder: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """Places and their recordings: sub-folders, or the TAU 2019 set in its published layout."""
    root = Path(folder)
    if (root / "meta.csv").is_file():
        return tau_backgrounds(root)
    folders = class_folders(root)
    places: dict[str, list[Path]] = {name: [] for name in folders.classes}
    for file, label in zip(folders.files, folders.labels, strict=True):
        places[folders.classes[label]].append(file)
    return places


def _load_folder(folder: str | os.PathLike[str]) -> Published:
    """A folder for each class; clips are dealt out to the folds in turn."""
    folders = class_folders(Path(folder))
    seen: dict[int, int] = {}
    folds = []
    for label in folders.labels:
        folds.append(seen.get(label, 0) % _FOLDS + 1)
        seen[label] = seen.get(label, 0) + 1
    return Published("folder", folders.files, folders.classes, folders.labels, folds)


def _only(data: Published, members: Sequence[bool]) -> Published:
    """Some of the clips, with all classes."""

    def of(values: list[T]) -> list[T]:
        return list(compress(values, members))

    return replace(
        data,
        files=of(data.files),
        labels=of(data.labels),
        folds=of(data.folds),
        groups=of(data.groups),
        sources=of(data.sources),
    )

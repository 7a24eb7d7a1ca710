"""How the prior of ``concepts`` was chosen: recordings of free games, named by what they hold.

    python benchmarks/concepts_prior.py FOLDER [--others FOLDER ...]

FOLDER holds one sub-folder for each collection (see ``docs/encoders.md``). ``data/free_sounds.txt``
labels some of their recordings, at most 12 of a kind. Each is classified among all these labels with
every candidate prior; a prior made of the collections is made without the collection that is
tested. ``--others``: folders whose recordings make a prior of their own. Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from concepts_data import collection, mean_scores, recordings

from prism_audio.encoders.concepts.encoder import FLOOR, ConceptsEncoder
from prism_audio.encoders.concepts.yamnet import RATE, SAMPLES
from prism_audio.encoders.prompts import PromptSet, prototypes

MOST_OF_A_KIND = 12
# Packs of one kind of sound (drum kits, voices), and packs of fewer than 40 recordings.
NOT_BROAD = {
    "hydrogen-drumkits-effects",
    "sonic-pi-samples",
    "lmms-common",
    "asterisk-moh-opsound-wav",
    "hedgewars-data",
    "freedroidrpg-data",
    "boswars-data",
    "pysiogame",
    "pingus-data",
    "frozen-bubble-data",
    "sound-theme-freedesktop",
}
Prior = Callable[[str], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--others", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    encoder = ConceptsEncoder()
    folders = sorted(path for path in given.folder.iterdir() if path.is_dir())
    means = {
        folder.name: np.mean(list(rows.values()), axis=0)
        for folder in folders
        if (rows := collection(encoder, folder))
    }
    priors: dict[str, Prior] = {
        "none": lambda left_out: np.full(encoder.dim, 0.01),
        "noise of all colours": fixed(noises(encoder)),
        "all collections": mean_without(means),
        "broad collections": mean_without({k: v for k, v in means.items() if k not in NOT_BROAD}),
    }
    for other in given.others:
        rows = list(collection(encoder, other).values())
        priors[other.name] = fixed(np.mean(rows, axis=0))
    clips, truth, labels = labelled(encoder, folders)
    results = []
    print(f"{len(clips)} recordings, {len(labels)} labels\n")
    print(f"{'prior':22s} {'prompts':8s} accuracy    mrr")
    for prompts in (PromptSet.load("plain"), PromptSet.load("sentences")):
        T = prototypes(encoder, labels, prompts)
        for name, prior in priors.items():
            E = np.array([np.log((s + FLOOR) / (prior(origin) + FLOOR)) for origin, s in clips])
            similar = E @ T.T
            own = similar[np.arange(len(E)), truth]
            ranks = 1 + (similar > own[:, None]).sum(axis=1)
            accuracy, mrr = 100 * (ranks == 1).mean(), (1 / ranks).mean()
            results.append(
                {"prior": name, "prompts": prompts.name, "accuracy": accuracy, "mrr": mrr}
            )
            print(f"{name:22s} {prompts.name:8s} {accuracy:8.1f}  {mrr:.3f}")
    print(json.dumps({"recordings": len(clips), "labels": len(labels), "results": results}))


def labelled(
    encoder: ConceptsEncoder, folders: list[Path]
) -> tuple[list[tuple[str, np.ndarray]], np.ndarray, list[str]]:
    """Recordings with a label, as (collection, scores); their label numbers; the labels."""
    text = (Path(__file__).parent / "data/free_sounds.txt").read_text(encoding="utf-8")
    rules = [line.split(" => ") for line in text.splitlines() if not line.startswith("#")]
    clips, names, count = [], [], Counter[str]()
    for folder in folders:
        chosen = {}
        for path in recordings(folder):
            place = path.relative_to(folder.parent).as_posix()
            label = next((label for pattern, label in rules if re.search(pattern, place)), None)
            if label and count[label] < MOST_OF_A_KIND:
                count[label] += 1
                chosen[path] = label
        for path, row in mean_scores(encoder, list(chosen)).items():
            clips.append((folder.name, row))
            names.append(chosen[path])
    labels = sorted(set(names))
    return clips, np.array([labels.index(name) for name in names]), labels


def noises(encoder: ConceptsEncoder) -> np.ndarray:
    """Mean scores of noises from blue to brown at several levels."""
    rng = np.random.default_rng(0)
    frequency = np.maximum(np.fft.rfftfreq(SAMPLES, 1 / RATE), RATE / SAMPLES)
    spectra = np.fft.rfft(rng.standard_normal((20, SAMPLES)))
    spectra *= frequency ** -np.linspace(-0.5, 1.5, 20)[:, None]
    sounds = np.fft.irfft(spectra, SAMPLES)
    sounds /= np.abs(sounds).max(axis=1, keepdims=True)
    windows = np.concatenate([sounds * level for level in np.logspace(-2.5, 0, 10)])
    return encoder.embed_windows(windows.astype(np.float32)).mean(axis=0)


def fixed(prior: np.ndarray) -> Prior:
    return lambda left_out: prior


def mean_without(means: dict[str, np.ndarray]) -> Prior:
    return lambda left_out: np.mean([m for name, m in means.items() if name != left_out], axis=0)


if __name__ == "__main__":
    main()

"""Make the shipped numbers of the encoder ``concepts`` anew: the prior and the sentence vectors.

    python benchmarks/concepts_data.py --sounds FOLDER    # both
    python benchmarks/concepts_data.py                    # the vectors; the prior stays

FOLDER holds one sub-folder for each collection of recordings. The prior is the mean over the
collections of the mean scores of their recordings: at most 300 of each, evenly spread over the
sorted names, and at most the first 30 s of each. ``docs/encoders.md`` names the collections.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from prism_audio.audio.decode import SUFFIXES
from prism_audio.audio.windows import encoder_windows
from prism_audio.encoders import assets
from prism_audio.encoders.concepts.encoder import (
    SENTENCE,
    Concept,
    ConceptsEncoder,
    concepts,
    space,
)
from prism_audio.encoders.concepts.minilm import MiniLM
from prism_audio.errors import AudioError

DATA = Path(__file__).parent.parent / "src/prism_audio/encoders/concepts/concepts.safetensors"
MOST_FILES, MOST_SECONDS = 300, 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sounds", type=Path, help="a folder of collections; makes the prior anew")
    sounds = parser.parse_args().sounds
    prior = space().prior
    if sounds:
        encoder = ConceptsEncoder()
        folders = sorted(path for path in sounds.iterdir() if path.is_dir())
        scores = {folder.name: collection(encoder, folder) for folder in folders}
        prior = np.mean([np.mean(list(rows.values()), axis=0) for rows in scores.values()], axis=0)
        for name, rows in scores.items():
            print(f"{len(rows):4d} recordings  {name}")
    tower = MiniLM(assets.resolve(assets.MINILM), assets.resolve(assets.TOKENIZER))
    vectors = tower.vectors([sentence(concept) for concept in concepts()])
    arrays = {"prior": prior.astype(np.float32), "vectors": vectors.astype(np.float16)}
    DATA.write_bytes(save(arrays))
    for index in np.argsort(-prior)[:10]:
        print(f"{prior[index]:.3f}  {concepts()[index].name}")


def sentence(concept: Concept) -> str:
    """What a text is compared with."""
    return SENTENCE.format(name=concept.name.lower(), description=concept.description)


def collection(encoder: ConceptsEncoder, folder: Path) -> dict[Path, np.ndarray]:
    """Mean scores of each of at most 300 recordings below a folder."""
    files = recordings(folder)
    if len(files) > MOST_FILES:
        files = [files[i * len(files) // MOST_FILES] for i in range(MOST_FILES)]
    return mean_scores(encoder, files)


def recordings(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)


def mean_scores(encoder: ConceptsEncoder, files: list[Path]) -> dict[Path, np.ndarray]:
    """Mean scores of each recording that can be read, over its first 30 s."""

    def scores(path: Path) -> np.ndarray | None:
        try:
            windows = takewhile(lambda w: w.start < MOST_SECONDS, encoder_windows(encoder, path))
            samples, weights = zip(*((w.samples, w.weight) for w in windows), strict=True)
        except AudioError as error:
            print(f"left out: {error}")
            return None
        return np.average(encoder.embed_windows(np.stack(samples)), axis=0, weights=weights)

    with ThreadPoolExecutor(2) as threads:
        rows = zip(files, threads.map(scores, files), strict=True)
        return {path: row for path, row in rows if row is not None}


if __name__ == "__main__":
    main()

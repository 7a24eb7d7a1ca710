"""How the text side of ``concepts`` was chosen: do other words for a concept find it?

    python benchmarks/concepts_text.py [--potion FOLDER]

Each line of ``data/paraphrases.txt`` is a phrase and the concepts that would be right for it. A way
of describing the 521 concepts is better the more often a right one comes first (top 1, top 5, mean
reciprocal rank) and the likelier the right ones are at the best temperature (nll, in nats; lower is
better). FOLDER holds ``model.safetensors`` and ``tokenizer.json`` of potion-base-8M, a static text
model, for comparison. Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from concepts_data import sentence

from prism_audio.encoders import assets
from prism_audio.encoders.concepts.encoder import TEMPERATURE, Concept, concepts
from prism_audio.encoders.concepts.minilm import MiniLM
from prism_audio.encoders.prompts import PromptSet

Vectors = Callable[[Sequence[str]], np.ndarray]
TEMPERATURES = (0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.06, 0.07, 0.1)
# How a concept is put into words, and whether the mean of all concepts is taken off both sides.
WAYS: dict[str, tuple[Callable[[Concept], str], bool]] = {
    "name": (lambda concept: concept.name.lower(), False),
    "description": (lambda concept: concept.description, False),
    "name: description": (lambda concept: f"{concept.name.lower()}: {concept.description}", False),
    "sentence": (sentence, False),
    "sentence, centred": (sentence, True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--potion", type=Path)
    given = parser.parse_args()
    model, words = assets.resolve(assets.MINILM), assets.resolve(assets.TOKENIZER)
    towers: dict[str, Vectors] = {"minilm": MiniLM(model, words).vectors}
    if given.potion:
        towers["potion"] = potion(given.potion)
    phrases, right = paraphrases()
    results = []
    print(f"{'tower':7s} {'prompts':8s} {'concept as':18s} top 1  top 5    mrr    nll  at")
    for tower, vectors in towers.items():
        described = {way: vectors([say(c) for c in concepts()]) for way, (say, _) in WAYS.items()}
        for prompts in (PromptSet.load("plain"), PromptSet.load("sentences")):
            asked = np.stack([vectors(prompts.fill(phrase)) for phrase in phrases])
            for way, (_, centred) in WAYS.items():
                centre = described[way].mean(axis=0) if centred else 0.0
                queries = unit(unit(asked - centre).mean(axis=1))
                found = measure(queries @ unit(described[way] - centre).T, right)
                results.append({"tower": tower, "prompts": prompts.name, "concept": way} | found)
                print(
                    f"{tower:7s} {prompts.name:8s} {way:18s} {found['top1']:5.1f}  "
                    f"{found['top5']:5.1f}  {found['mrr']:.3f}  {found['nll']:.3f}  {found['at']}"
                )
    print(json.dumps({"phrases": len(phrases), "shipped": TEMPERATURE, "results": results}))


def measure(cosine: np.ndarray, right: list[list[int]]) -> dict[str, float]:
    """How well a matrix (phrases, concepts) of similarities points to the right concepts."""
    ranks = np.array(
        [
            min(1 + int((row > row[index]).sum()) for index in wanted)
            for row, wanted in zip(cosine, right, strict=True)
        ]
    )
    nll = {}
    for temperature in TEMPERATURES:
        odds = np.exp((cosine - cosine.max(axis=1, keepdims=True)) / temperature)
        odds /= odds.sum(axis=1, keepdims=True)
        chances = [row[wanted].sum() for row, wanted in zip(odds, right, strict=True)]
        nll[temperature] = float(-np.log(chances).mean())
    best = min(nll, key=nll.__getitem__)
    return {
        "top1": round(100 * float((ranks == 1).mean()), 1),
        "top5": round(100 * float((ranks <= 5).mean()), 1),
        "mrr": round(float((1 / ranks).mean()), 3),
        "nll": round(nll[best], 3),
        "at": best,
    }


def paraphrases() -> tuple[list[str], list[list[int]]]:
    """The phrases, and for each the numbers of the concepts that would be right."""
    number = {concept.name: index for index, concept in enumerate(concepts())}
    text = (Path(__file__).parent / "data/paraphrases.txt").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if not line.startswith("#")]
    return [row[0] for row in rows], [[number[name] for name in row[1:]] for row in rows]


def potion(folder: Path) -> Vectors:
    """The static model: the mean of the vectors of a text's tokens."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    (table,) = load_file(folder / "model.safetensors").values()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()

    def vectors(texts: Sequence[str]) -> np.ndarray:
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        return unit(np.array([table[row].mean(axis=0) for row in ids]))

    return vectors


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


if __name__ == "__main__":
    main()

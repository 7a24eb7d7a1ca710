"""Zero-shot accuracy of an encoder on clean ESC-50: no adaptation, no label seen.

    python benchmarks/esc50_zero_shot.py ESC50_FOLDER [--encoder concepts] [--prompts sentences plain]

The folder holds ``esc50.csv`` (or ``meta/esc50.csv``) and ``audio/``. Prints a table and JSON.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np

from prism_audio.encoders import embed_audio, load_encoder
from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", default="concepts")
    parser.add_argument("--prompts", nargs="+", default=["sentences", "plain"])
    given = parser.parse_args()
    clips, target, fold, labels = esc50(given.folder)
    encoder = load_encoder(given.encoder)
    began = time.perf_counter()
    E = embed_audio(encoder, clips)
    rows = []
    for name in given.prompts:
        prompts = PromptSet.load(name)
        hit = (E @ prototypes(encoder, labels, prompts).T).argmax(axis=1) == target
        folds = [round(100 * float(hit[fold == k].mean()), 2) for k in np.unique(fold)]
        accuracy = round(100 * float(hit.mean()), 2)
        rows.append({"prompts": prompts.name, "accuracy": accuracy, "folds": folds})
        print(f"{prompts.name:10s} {accuracy:6.2f} %   by fold: {folds}")
    print(
        json.dumps(
            {
                "encoder": encoder.id,
                "fingerprint": encoder.fingerprint[:16],
                "clips": len(clips),
                "seconds": round(time.perf_counter() - began, 1),
                "zero_shot": rows,
            }
        )
    )


def esc50(folder: Path) -> tuple[list[Path], np.ndarray, np.ndarray, list[str]]:
    """Clips, class numbers, folds and the 50 labels; clips may be in any audio format."""
    table = next(
        path for path in (folder / "esc50.csv", folder / "meta/esc50.csv") if path.exists()
    )
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    audio = {path.stem: path for path in (folder / "audio").iterdir()}
    clips = [audio[Path(row["filename"]).stem] for row in rows]
    target = np.array([int(row["target"]) for row in rows])
    fold = np.array([int(row["fold"]) for row in rows])
    names = {int(row["target"]): clean_label(row["category"]) for row in rows}
    return clips, target, fold, [names[index] for index in sorted(names)]


if __name__ == "__main__":
    main()

"""Make the embeddings that ship with the demo from a cached condition of the bench.

    python benchmarks/make_demo_data.py CONDITION.safetensors ESC50_FOLDER

CONDITION is a file that ``prism bench experiments/esc50.toml`` left in its cache (street traffic,
0 dB); ESC50_FOLDER holds the dataset.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from prism_audio.datasets.esc50 import load_esc50
from prism_audio.encoders.prompts import PromptSet, clean_label, prototypes
from prism_audio.encoders.registry import load_encoder
from prism_audio.io.atomic import atomic_write

OUT = Path(__file__).resolve().parents[1] / "src/prism_audio/demo/data/esc50_street.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("condition", type=Path)
    parser.add_argument("esc50", type=Path)
    options = parser.parse_args()
    dataset = load_esc50(options.esc50)
    encoder = load_encoder("concepts")
    labels = [clean_label(name) for name in dataset.classes]
    arrays = {
        "embeddings": load_file(options.condition)["embedding"].astype(np.float16),
        "prototypes": prototypes(encoder, labels, PromptSet.load("paper")),
        "truth": np.asarray(dataset.labels, dtype=np.int16),
    }
    about = {
        "title": "ESC-50 in street traffic at 0 dB (real recordings)",
        "encoder": encoder.id,
        "encoder_fingerprint": encoder.fingerprint,
        "labels": "\n".join(labels),
        "origin": (
            "Embeddings computed by the PRISM developers from ESC-50 (K. J. Piczak, 2015, CC BY-NC "
            "3.0) mixed with street recordings of TUT/TAU Urban Acoustic Scenes (non-commercial) and "
            "alike; they hold no audio. For non-commercial use."
        ),
    }
    with atomic_write(OUT) as file:
        file.write(save(arrays, about))
    print(f"wrote {OUT.name}, {OUT.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()

"""The correction as ``sentence-transformers`` modules: Normalize, Dense, Normalize.

    0_Normalize            unit rows, for which the map was found
    1_Dense                e -> e W + b
    2_Normalize            unit rows again
    prototypes.safetensors the text vectors, with the labels in its metadata

Put after an encoder's modules, they make it give corrected embeddings; a cosine with the prototypes
is then the adapter's score.
"""

from __future__ import annotations

import json
import os

import numpy as np

from prism_audio.export.arrays import about
from prism_audio.io.atomic import atomic_folder
from prism_audio.io.safe_tensors import dump
from prism_audio.model.adapter import Adapter

_KIND = "sentence_transformers.models."


def write_modules(adapter: Adapter, folder: str | os.PathLike[str]) -> None:
    """Write the folder, whole or not at all; one that is there already must be empty."""
    with atomic_folder(folder) as made:
        for name, content in _files(adapter).items():
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_bytes(content)
        for name in ("0_Normalize", "2_Normalize"):
            (made / name).mkdir()


def _files(adapter: Adapter) -> dict[str, bytes]:
    d = adapter.dim
    order = ("0_Normalize", "1_Dense", "2_Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": _KIND + path.partition("_")[2]}
        for i, path in enumerate(order)
    ]
    dense = {
        "in_features": d,
        "out_features": d,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    weights = {
        # torch keeps a linear layer as (out, in).
        "linear.weight": np.ascontiguousarray(adapter.W[:d].T, dtype=np.float32),
        "linear.bias": adapter.W[d].astype(np.float32),
    }
    prototypes = {"prototypes": np.ascontiguousarray(adapter.prototypes, dtype=np.float32)}
    told = {name: str(value) for name, value in about(adapter).items()}
    told["use"] = "label = argmax over c of the cosine with prototypes[c]"
    return {
        "modules.json": json.dumps(modules, indent=2).encode(),
        "1_Dense/config.json": json.dumps(dense, indent=2).encode(),
        "1_Dense/model.safetensors": dump(weights, {"format": "pt"}),
        "prototypes.safetensors": dump(
            prototypes, {**told, "labels": json.dumps(list(adapter.labels))}
        ),
    }

"""The head as plain numbers: C adapted prototypes and C biases, in JSON or NPZ.

    label = argmax_c <e / |e|, prototype_c> + bias_c

Any program that compares embeddings with text vectors adopts a place by swapping these in.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any

import numpy as np

from prism_audio.io import seal
from prism_audio.io.atomic import atomic_write
from prism_audio.model.adapter import Adapter

FORMAT = "prism-head"
SCHEMA = 1
USE = "label = argmax over c of dot(e / |e|, prototypes[c]) + biases[c]"


def about(adapter: Adapter) -> dict[str, Any]:
    """What a reader of the numbers should know."""
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "use": USE,
        "encoder": adapter.encoder,
        "encoder_fingerprint": adapter.encoder_fingerprint,
        "prompts": adapter.prompts,
        "place": adapter.facts.place,
        "background": list(adapter.labels[len(adapter.labels) - (adapter.facts.background or 0) :]),
        "verdict": adapter.facts.verdict,
    }


def write_json(adapter: Adapter, path: str | os.PathLike[str]) -> None:
    """One JSON document: what it is, ``labels``, ``prototypes`` (C lists of d), ``biases`` (C)."""
    A, b = adapter.fold()
    document = {
        **about(adapter),
        "labels": list(adapter.labels),
        "prototypes": [_numbers(column) for column in A.T],
        "biases": _numbers(b),
        "sha256": seal.BLANK,
    }
    with atomic_write(path) as file:
        file.write(seal.sealed(json.dumps(document, ensure_ascii=False).encode()))


def write_npz(adapter: Adapter, path: str | os.PathLike[str]) -> None:
    """The arrays ``labels``, ``prototypes`` (C, d) and ``biases`` (C,), and ``about`` as JSON."""
    A, b = adapter.fold()
    held = io.BytesIO()
    np.savez(
        held,
        prototypes=np.ascontiguousarray(A.T),
        biases=b,
        labels=np.array(adapter.labels),
        about=np.array(json.dumps(about(adapter))),
    )
    with zipfile.ZipFile(held, "a") as archive:
        archive.comment = seal.BLANK.encode()
    with atomic_write(path) as file:
        file.write(seal.sealed(held.getvalue()))


def _numbers(values: np.ndarray) -> list[float]:
    """Python floats with no more digits than their type has."""
    return [float(str(value)) for value in values]

"""A cache of label vectors on the disk: the text side of an encoder is loaded for new labels only.

A file is named by a hash of the labels, the prompts and the encoder, and begins with a hash of its
content. A file that is damaged or from another version is made again, and the oldest are deleted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from prism_audio.encoders.prompts import PromptSet, prototypes
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.io.cache import user_cache
from prism_audio.io.types import Float32

# Raised when the same labels, prompts and encoder give other vectors.
_VERSION = 1
# Lists of labels: 50 labels in 512 dimensions are 0.1 MB.
_MOST = 256
# Only a hash of the encoder's content changes with it; a name that was written by hand may not.
_HASH = re.compile("[0-9a-f]{64}")


def cached_prototypes(encoder: Encoder, labels: Sequence[str], prompts: PromptSet) -> Float32:
    """As :func:`~prism_audio.encoders.prompts.prototypes`, from the cache where it has them."""
    if not _HASH.fullmatch(encoder.fingerprint):
        return prototypes(encoder, labels, prompts)
    path = user_cache("prototypes") / _name(encoder, labels, prompts)
    shape = (len(labels), encoder.dim)
    if (rows := _read(path, shape)) is None:
        rows = prototypes(encoder, labels, prompts)
        _write(path, rows)
    return rows


def _name(encoder: Encoder, labels: Sequence[str], prompts: PromptSet) -> str:
    key = [_VERSION, encoder.fingerprint, prompts.templates, list(labels)]
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()


def _read(path: Path, shape: tuple[int, int]) -> Float32 | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, rows = content[:32], content[32:]
    if len(rows) != 4 * shape[0] * shape[1] or hashlib.sha256(rows).digest() != digest:
        return None
    return np.frombuffer(rows, "<f4").reshape(shape).astype(np.float32)


def _write(path: Path, rows: Float32) -> None:
    content = rows.astype("<f4").tobytes()
    # Without a place for it the cache is left out; the vectors are there all the same.
    with suppress(OSError, PrismError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)
        by_age = sorted(path.parent.iterdir(), key=lambda entry: entry.stat().st_mtime)
        for entry in by_age[:-_MOST]:
            entry.unlink()

"""Recordings to embeddings on a Ray cluster: every task embeds a chunk of files as one process would.

A *chunk* is as many files as a shard may hold. The calling process takes the results in the order of the
files. They do not depend on which worker did what or how often, so a worker that dies costs time and
changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from prism_audio.encoders.embedding.clips import Clip, Failure
from prism_audio.encoders.embedding.engine import GROUP_FILES, GROUP_SECONDS, embed_files
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import load_encoder
from prism_audio.errors import PrismError
from prism_audio.out_of_core.cluster import connect, on_cluster

# Of a task: one decodes while the encoder, which has threads of its own, computes.
CORES = 2


def embed_on_ray(
    files: Iterable[Path],
    encoder: Encoder,
    *,
    per_window: bool = False,
    workers: int | None = None,
    group_files: int = GROUP_FILES,
    group_seconds: float = GROUP_SECONDS,
    on_audio: Callable[[float], None] | None = None,
) -> Generator[Clip | Failure, None, None]:
    """Embed recordings on the cluster this process has joined, or on a new one on this machine.

    Takes and returns what ``embed_files`` does, with the same bytes as long as no ``group_files``
    consecutive files reach ``group_seconds``. Where they do, a group also ends with every
    ``group_files``-th file, and a row may differ by the rounding that an encoder shows between batches.

    Every worker must find the files under the same absolute paths. Workers load the encoder by its
    ``id``, and one with another fingerprint is refused. So many chunks as ``workers`` are embedded at
    once; by default as the cluster has room. Where a worker cannot go on, what was yielded is complete.
    """
    chunks = list(_chunks(files, group_files))
    if not chunks:
        return
    connect()
    known = (_name(encoder), encoder.fingerprint, per_window, group_seconds)
    calls = ((*known, [Path(os.path.abspath(path)) for path in chunk]) for chunk in chunks)
    try:
        for number, results in enumerate(on_cluster(_embed, calls, CORES, workers)):
            for path, result in zip(chunks[number], results, strict=True):
                if on_audio and isinstance(result, Clip):
                    on_audio(result.seconds)
                yield replace(result, path=path, group=result.group + number * group_files)
    except PrismError as error:
        raise PrismError(f"{error}. What was written before is safe") from error


def _chunks(files: Iterable[Path], size: int) -> Iterator[list[Path]]:
    rest = iter(files)
    while chunk := list(islice(rest, size)):
        yield chunk


def _name(encoder: Encoder) -> str:
    """The name by which any worker can load an encoder."""
    is_path = os.sep in encoder.id and os.path.exists(encoder.id)
    return os.path.abspath(encoder.id) if is_path else encoder.id


def _embed(
    name: str, fingerprint: str, per_window: bool, group_seconds: float, files: list[Path]
) -> list[Clip | Failure]:
    """The results of one chunk, on a worker."""
    encoder = _load(name)
    if encoder.fingerprint != fingerprint:
        raise PrismError(
            f"the encoder {encoder.id} of a worker is not the one of this machine (fingerprint "
            f"{encoder.fingerprint}, here {fingerprint}); install the same versions and models"
        )
    results = embed_files(
        files,
        encoder,
        per_window=per_window,
        workers=1,
        group_files=len(files),
        group_seconds=group_seconds,
    )
    return list(results)


@lru_cache(maxsize=1)
def _load(name: str) -> Encoder:
    """An encoder, loaded once in a worker's process."""
    return load_encoder(name)

"""Recordings to embeddings on a Ray cluster: tasks decode, actors encode, one process writes.

A *chunk* is as many files as a shard may hold. A task decodes a chunk and passes its windows on in
the same batches in which ``embed_files`` would have embedded them; an actor replaces the samples of a
batch by their features; the calling process puts the batches, which arrive in any order, back into the
order of the files. The result does not depend on which worker did what or how often, so a worker that
dies costs time and changes nothing.

One row of plain columns is sent for every batch:

``chunk``, ``batch``
    Number of the chunk, and of the batch in it.
``data``
    Samples (n, window) on the way to the encoder, features (n, f) on the way back; float32.
``spans``
    (n, 4) float64: number of the file in its chunk, start, end and weight of each window.
``end``
    Empty, except in the row after a chunk's last batch: JSON with each file's group and failure.
``error``
    Empty, or why the encoder cannot go on. (An exception of a worker would arrive with pages of trace.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.windows import Window, padded
from prism_audio.encoders.embedding.clips import (
    BATCH_SECONDS,
    Clip,
    Failure,
    OpenClip,
    WindowSpan,
)
from prism_audio.encoders.embedding.engine import GROUP_FILES, GROUP_SECONDS
from prism_audio.encoders.embedding.feed import Unreadable, decoded_ahead
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import load_encoder
from prism_audio.errors import PrismError
from prism_audio.io.types import Float32
from prism_audio.out_of_core.cluster import connect

Row = dict[str, Any]

# Ray Data repeats, without limit, what a worker was doing when it died. Only deaths while a worker
# starts are limited, because the next worker would most likely die as well.
DEATHS_AT_START = 5


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
    ``id``, and one with another fingerprint is refused. ``workers`` are chunks that are decoded at once;
    by default as the cluster has room. Where a worker cannot go on, what was yielded is complete.
    """
    chunks = list(_chunks(files, group_files))
    if not chunks:
        return
    connect()
    from ray.exceptions import RayError

    open_chunks: dict[int, _Chunk] = {}
    due = 0
    try:
        with closing(_features(chunks, encoder, group_seconds, workers)) as rows:
            for row in rows:
                if row["error"]:
                    raise _stopped(row["error"])
                number = row["chunk"]
                if number not in open_chunks:
                    clips = [OpenClip(path, 0, per_window) for path in chunks[number]]
                    open_chunks[number] = _Chunk(clips)
                seconds = open_chunks[number].add(row)
                if on_audio:
                    on_audio(seconds)
                while due in open_chunks and open_chunks[due].whole:
                    for clip in open_chunks.pop(due).clips:
                        clip.group += due * group_files
                        yield clip.close(encoder)
                    due += 1
    except RayError as error:
        raise _stopped(str(error).strip().splitlines()[-1]) from error


def _stopped(reason: str) -> PrismError:
    return PrismError(
        f"the workers cannot go on: {reason}. What was written before is safe: correct this, then "
        "run the same command again"
    )


def _chunks(files: Iterable[Path], size: int) -> Iterator[list[Path]]:
    rest = iter(files)
    while chunk := list(islice(rest, size)):
        yield chunk


def _features(
    chunks: list[list[Path]], encoder: Encoder, group_seconds: float, workers: int | None
) -> Generator[Row, None, None]:
    """The rows of all chunks, encoded, in whatever order they are ready."""
    import ray.data

    cluster: Any = ray
    cores = cluster.cluster_resources().get("CPU", 1)
    # Both stages must have room at the same time, and Ray merges stages that ask for equal shares.
    share = min(1, cores / 2)
    sound = _Sound(encoder.rate, encoder.window, encoder.hop)
    # Arrow takes valid text only, which a file name need not be; JSON can write any name.
    items = [
        {"chunk": number, "files": json.dumps([os.path.abspath(path) for path in chunk])}
        for number, chunk in enumerate(chunks)
    ]
    source = cluster.data.from_items(items, override_num_blocks=len(items))
    context = source.context
    context.enable_progress_bars = False
    context.target_max_block_size = 1  # pass every batch on when it is ready, not many together
    context.max_consecutive_actor_init_deaths = DEATHS_AT_START
    encoded = source.flat_map(
        partial(_decode, sound=sound, group_seconds=group_seconds),
        num_cpus=share / 2,
        concurrency=workers,
    ).map(
        _Tower,
        fn_constructor_args=(_name(encoder), encoder.fingerprint),
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=max(1, int(cores // 2))),
        num_cpus=share,
    )
    yield from encoded.iter_rows()


class _Sound(NamedTuple):
    """What the decoder needs to know of an encoder; only the actors load its weights."""

    rate: int
    window: float
    hop: float


def _name(encoder: Encoder) -> str:
    """The name by which any worker can load an encoder."""
    is_path = os.sep in encoder.id and os.path.exists(encoder.id)
    return os.path.abspath(encoder.id) if is_path else encoder.id


def _decode(row: Row, sound: _Sound, group_seconds: float) -> Iterator[Row]:
    """Turn a chunk into rows: its batches, then its end."""
    size = max(1, int(BATCH_SECONDS / sound.window))
    files = [Path(name) for name in json.loads(row["files"])]
    groups: list[int] = []
    reasons: list[str] = []
    batch: list[tuple[int, Window]] = []
    number, group, seconds = 0, 0, 0.0
    for index, feed in enumerate(decoded_ahead(files, cast(Encoder, sound), workers=1)):
        reason, length = "", 0.0
        try:
            for window in feed:
                batch.append((index, window))
                length = window.end
                if len(batch) == size:
                    yield _batch(row["chunk"], number, batch)
                    number, batch = number + 1, []
        except Unreadable as error:
            reason = str(error)
        groups.append(group)
        reasons.append(reason)
        seconds += length
        if batch and (seconds >= group_seconds or index == len(files) - 1):
            yield _batch(row["chunk"], number, batch)
            number, batch = number + 1, []
        if seconds >= group_seconds:
            group, seconds = group + 1, 0.0
    end = json.dumps({"groups": groups, "reasons": reasons})
    yield _row(row["chunk"], number, end=end)


def _batch(chunk: int, number: int, batch: list[tuple[int, Window]]) -> Row:
    spans = np.array([(file, w.start, w.end, w.weight) for file, w in batch], np.float64)
    data = np.stack([window.samples for _, window in batch]).astype(np.float32, copy=False)
    return _row(chunk, number, data=data.tobytes(), spans=spans.tobytes())


def _row(chunk: int, batch: int, data: bytes = b"", spans: bytes = b"", end: str = "") -> Row:
    return {
        "chunk": chunk,
        "batch": batch,
        "data": data,
        "spans": spans,
        "end": end,
        "error": "",
    }


class _Tower:
    """An encoder in a process of its own."""

    def __init__(self, name: str, fingerprint: str) -> None:
        self._name, self._wanted = name, fingerprint

    def __call__(self, row: Row) -> Row:
        """The row with features in the place of samples."""
        if row["end"]:
            return row
        try:
            return {**row, "data": self._features(row).tobytes()}
        except PrismError as error:
            return {**row, "data": b"", "error": str(error)}
        except Exception as error:
            return {**row, "data": b"", "error": f"{type(error).__name__}: {error}"}

    def _features(self, row: Row) -> Float32:
        encoder = self._encoder
        weights = _array(row["spans"], np.float64, 4)[:, 3]
        windows = _array(row["data"], np.float32, round(encoder.window * encoder.rate))
        # The decoder, which has no encoder, has padded with zeros.
        pairs = zip(windows, weights, strict=True)
        batch = np.stack([padded(encoder, window, seconds) for window, seconds in pairs])
        return encoder.embed_windows(batch).astype(np.float32, copy=False)

    @cached_property
    def _encoder(self) -> Encoder:
        encoder = load_encoder(self._name)
        if encoder.fingerprint != self._wanted:
            raise PrismError(
                f"the encoder {encoder.id} of a worker is not the one of this machine (fingerprint "
                f"{encoder.fingerprint}, here {self._wanted}); install the same versions and models"
            )
        return encoder


@dataclass
class _Chunk:
    """Recordings whose batches arrive in any order."""

    clips: list[OpenClip]
    whole: bool = False
    _early: dict[int, Row] = field(default_factory=dict)
    _due: int = 0

    def add(self, row: Row) -> float:
        """Take a batch, and those that waited for it; return the seconds of sound in them."""
        seconds = 0.0
        self._early[row["batch"]] = row
        while row := self._early.pop(self._due, {}):
            self._due += 1
            if row["end"]:
                self._finish(**json.loads(row["end"]))
            else:
                seconds += self._take(row)
        return seconds

    def _take(self, row: Row) -> float:
        spans, seconds = _array(row["spans"], np.float64, 4), 0.0
        features: Float32 = np.frombuffer(row["data"], np.float32).reshape(len(spans), -1)
        for (file, start, end, weight), feature in zip(spans.tolist(), features, strict=True):
            clip = self.clips[int(file)]
            seconds += end - clip.seconds  # overlapping windows count their sound once
            clip.seconds = end
            clip.take(WindowSpan(start, end, weight), feature)
        return seconds

    def _finish(self, groups: list[int], reasons: list[str]) -> None:
        for clip, group, reason in zip(self.clips, groups, reasons, strict=True):
            clip.group, clip.reason = group, reason
        self.whole = True


def _array(data: bytes, kind: type[np.generic], width: int) -> NDArray[Any]:
    return np.frombuffer(data, kind).reshape(-1, width)

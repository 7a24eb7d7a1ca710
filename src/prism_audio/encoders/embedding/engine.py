"""Embed many recordings: several are decoded at once, and their windows share batches.

The order of the results, and which windows meet in which batch, depend on the files alone, not on
threads or timing. Batches are cut at the end of every *group* of files, so a run that begins at a
group's first file gives that group the same bytes as the run that began long before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np

from prism_audio.audio.windows import Window
from prism_audio.encoders.embedding.clips import BATCH_SECONDS, Clip, Failure, OpenClip, WindowSpan
from prism_audio.encoders.embedding.feed import Unreadable, decoded_ahead
from prism_audio.encoders.protocol import Encoder
from prism_audio.io.runtime import usable_cores
from prism_audio.io.types import Float32

__all__ = ["Clip", "Failure", "embed_files", "usable_cores"]

GROUP_FILES = 256
GROUP_SECONDS = 1800.0
# Batches at the encoder: one that it works on, and one so that it never waits.
MOST_AWAY = 2


class Progress(Protocol):
    """An observer of a run."""

    def begin(self, files: int, size: int) -> None:
        """So many files of so many bytes are to be done."""

    def audio(self, seconds: float) -> None:
        """So many more seconds of sound were embedded."""

    def file(self, size: int) -> None:
        """One more file, of so many bytes, is done or has failed."""


class Silent:
    """An observer that does nothing."""

    def begin(self, files: int, size: int) -> None: ...

    def audio(self, seconds: float) -> None: ...

    def file(self, size: int) -> None: ...


def embed_files(
    files: Iterable[Path],
    encoder: Encoder,
    *,
    per_window: bool = False,
    workers: int | None = None,
    group_files: int = GROUP_FILES,
    group_seconds: float = GROUP_SECONDS,
    on_audio: Callable[[float], None] | None = None,
) -> Generator[Clip | Failure, None, None]:
    """Embed recordings: one result a file, in the order of ``files``.

    A file that cannot be read gives a :class:`Failure` and the others go on. Memory grows neither
    with the number of files nor with their length. Closing the generator ends its threads.

    Parameters
    ----------
    files : iterable of Path
        The recordings; read lazily.
    encoder : Encoder
        Its ``embed_windows`` is called by one thread, while others decode; using several cores is
        its own business.
    per_window : bool
        Keep the features of every window, not their mean alone; the memory for a recording then
        grows with its length.
    workers : int, optional
        Threads that decode; by default one for every core.
    group_files, group_seconds : int, float
        A group ends with the file that reaches either.
    on_audio : callable, optional
        Told the seconds of sound newly embedded, often.
    """
    workers = workers or usable_cores()
    open_clips: deque[OpenClip] = deque()
    group, in_group, seconds = 0, 0, 0.0
    with (
        closing(_Batches(encoder, on_audio or (lambda _: None))) as batches,
        closing(decoded_ahead(files, encoder, workers)) as feeds,
    ):
        for feed in feeds:
            clip = OpenClip(feed.path, group, per_window)
            open_clips.append(clip)
            try:
                for window in feed:
                    batches.add(clip, window)
                    yield from _finished(open_clips, encoder)
            except Unreadable as error:
                clip.reason = str(error)
            clip.decoded = True
            in_group, seconds = in_group + 1, seconds + clip.seconds
            if in_group >= group_files or seconds >= group_seconds:
                batches.cut()
                group, in_group, seconds = group + 1, 0, 0.0
            yield from _finished(open_clips, encoder)
        batches.cut()
        batches.wait()
        yield from _finished(open_clips, encoder)


def _finished(clips: deque[OpenClip], encoder: Encoder) -> Iterator[Clip | Failure]:
    while clips and clips[0].done:
        yield clips.popleft().close(encoder)


class _Batches:
    """Windows gathered into batches, and the batches that are away at the encoder."""

    def __init__(self, encoder: Encoder, on_audio: Callable[[float], None]) -> None:
        self._encoder, self._on_audio = encoder, on_audio
        self._tower = ThreadPoolExecutor(1, thread_name_prefix="embed")
        self._size = max(1, int(BATCH_SECONDS / encoder.window))
        self._windows: list[tuple[OpenClip, WindowSpan]] = []
        self._samples: list[Float32] = []
        self._seconds = 0.0
        self._away: deque[tuple[list[tuple[OpenClip, WindowSpan]], float, Future[Float32]]] = (
            deque()
        )

    def add(self, clip: OpenClip, window: Window) -> None:
        self._seconds += window.end - clip.seconds  # overlapping windows count their sound once
        clip.seconds, clip.sent = window.end, clip.sent + 1
        self._windows.append((clip, WindowSpan(window.start, window.end, window.weight)))
        self._samples.append(window.samples)
        if len(self._samples) == self._size:
            self.cut()

    def cut(self) -> None:
        """Send what was gathered."""
        if not self._samples:
            return
        embedding = self._tower.submit(self._encoder.embed_windows, np.stack(self._samples))
        self._away.append((self._windows, self._seconds, embedding))
        self._windows, self._samples, self._seconds = [], [], 0.0
        while len(self._away) > MOST_AWAY:
            self._take()

    def wait(self) -> None:
        """Take back all that was sent."""
        while self._away:
            self._take()

    def close(self) -> None:
        """Forget what was sent and not yet begun."""
        self._tower.shutdown(cancel_futures=True)

    def _take(self) -> None:
        windows, seconds, embedding = self._away.popleft()
        for (clip, span), features in zip(windows, embedding.result(), strict=True):
            clip.take(span, features)
        self._on_audio(seconds)

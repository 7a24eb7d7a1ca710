"""Embed the recordings of requests: each sound once, in batches that all requests share.

A batch is whatever waits, so batches grow by themselves under load and a lone request never waits for
company. An encoder lets no window of a batch influence another, so a recording gets the same
embedding as alone. Live streams do not come here: their windows are embedded at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from prism_audio.audio.windows import Window, encoder_windows
from prism_audio.encoders.embedding.clips import Failure, OpenClip, WindowSpan
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.serve.embedding_queue import (
    BATCH_SECONDS,
    PATIENT,
    URGENT,
    EmbeddingQueue,
    Steps,
)
from prism_audio.serve.errors import ApiError, too_slow
from prism_audio.serve.row_cache import EmbeddedRecording, RowCache
from prism_audio.serve.settings import Limits
from prism_audio.serve.uploads import Recording

# Recordings of one request that are on their way at once: more would let a large one push others back.
AT_ONCE = 2
_CHUNK = 1 << 20

Result = TypeVar("Result")


class Embedder:
    """Embeds recordings on threads, and keeps what it has embedded.

    Attributes
    ----------
    encoder : Encoder
        What embeds.
    rows : RowCache
        What was embedded before.
    """

    def __init__(self, encoder: Encoder, limits: Limits, folder: Path | None) -> None:
        self.encoder, self._limits = encoder, limits
        self.rows = RowCache(encoder, folder)

    def start(self) -> None:
        """Start the threads."""
        self.queue = EmbeddingQueue(self.encoder)

    def close(self) -> None:
        """End the threads."""
        self.queue.close()
        self.rows.close()

    async def embed(
        self,
        recordings: Sequence[Recording],
        until: float | None,
        then: Callable[[EmbeddedRecording], Result],
    ) -> list[Result | ApiError]:
        """Embed recordings, and give each to a function on the same thread: its results, or the errors.

        Without a time ``until`` which somebody waits, this goes on behind urgent requests.
        """
        patience, parts = PATIENT if until is None else URGENT, min(AT_ONCE, len(recordings))
        tasks = [
            self.queue.put(self._embed_all(recordings[i::parts], until, then), patience)
            for i in range(parts)
        ]
        try:
            results = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return [results[i % parts][i // parts] for i in range(len(recordings))]

    def _embed_all(
        self,
        recordings: Sequence[Recording],
        until: float | None,
        then: Callable[[EmbeddedRecording], Result],
    ) -> Steps[list[Result | ApiError]]:
        results: list[Result | ApiError] = []
        for recording in recordings:
            if results:
                yield ()
            try:
                results.append(then((yield from self._embed_once(recording, until))))
            except ApiError as error:
                if error.file is None:  # the request is to blame, not the recording
                    raise
                results.append(error)
        return results

    def _embed_once(self, recording: Recording, until: float | None) -> Steps[EmbeddedRecording]:
        digest = hashlib.sha256(self.encoder.fingerprint.encode())
        for offset in range(0, recording.size, _CHUNK):
            digest.update(recording.read_at(offset, _CHUNK))
        row = digest.hexdigest()[:32]
        if (known := self.rows.get(row)) is not None:
            return replace(known, file=recording.name)
        clip = OpenClip(Path(recording.name), 0, per_window=True)
        rest = self._windows(recording, until)
        most = max(1, int(BATCH_SECONDS / self.encoder.window))
        while piece := list(islice(rest, most)):
            features = yield [window.samples for window in piece]
            assert features is not None
            for window, feature in zip(piece, features, strict=True):
                clip.take(WindowSpan(window.start, window.end, window.weight), feature)
            if len(piece) < most:
                break
            yield ()
        result = clip.close(self.encoder)
        if isinstance(result, Failure):
            raise _unusable(recording, result.reason)
        embedded = EmbeddedRecording(
            recording.name,
            row,
            result.embedding,
            result.start,
            result.end,
            result.features,
            self.encoder,
            tuple(recording.warnings),
        )
        self.rows.put(embedded)
        return embedded

    def _windows(self, recording: Recording, until: float | None) -> Iterator[Window]:
        """The windows of a recording, within the limits, which are kept while it is decoded."""
        try:
            for window in encoder_windows(self.encoder, recording):
                if until is not None and time.monotonic() > until:
                    raise too_slow(self._limits.request_seconds)
                if window.end > (longest := self._limits.seconds):
                    message = (
                        f"it is longer than {longest:g} s, the longest recording taken; cut it"
                    )
                    raise ApiError(422, "too_long", message, file=recording.name)
                yield window
        except ApiError:
            raise
        except PrismError as error:  # its message begins with the file, which the answer names
            raise _unusable(recording, str(error).removeprefix(f"{recording.name}: ")) from None
        except Exception as error:  # an unexpected decoder error must not fail the others
            raise _unusable(recording, f"it cannot be decoded ({type(error).__name__})") from error


def _unusable(recording: Recording, reason: str) -> ApiError:
    return ApiError(422, "bad_audio", reason, file=recording.name)

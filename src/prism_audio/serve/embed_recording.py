"""Embed one recording of an upload, on a thread, within limits that are kept while it is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.windows import Window, encoder_windows
from prism_audio.encoders.embedding.clips import Failure, OpenClip, embed_into
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.io.types import Float32
from prism_audio.serve.concurrency import Deadline
from prism_audio.serve.errors import ApiError
from prism_audio.serve.uploads import Recording

# Seconds of sound handed to the encoder at once, so that no request takes it for long.
PIECE_SECONDS = 16.0


@dataclass(frozen=True, eq=False)
class EmbeddedRecording:
    """A recording and its embedding.

    Attributes
    ----------
    file : str
        The client's name for it.
    row : str
        The hash of its content; empty where it came as an embedding.
    embedding : (d,) array
        Its unit vector.
    start, end, weight : (B,) arrays
        Where its windows lie, and how much real sound each holds, in seconds.
    features : (B, f) array
        The encoder's features of the windows.
    encoder : Encoder
        What embedded it.
    """

    file: str
    row: str
    embedding: Float32
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    weight: Float32
    features: Float32
    encoder: Encoder

    @property
    def seconds(self) -> float | None:
        """Length of the recording, where it is known."""
        return round(float(self.end[-1]), 3) if len(self.end) else None

    def named(self, file: str) -> EmbeddedRecording:
        """The same recording under another name."""
        other = copy(self)  # with the windows, where they are made already
        object.__setattr__(other, "file", file)
        return other

    @cached_property
    def windows(self) -> Float32:
        """Unit vectors (B, d) of the windows."""
        rows = np.empty((len(self.features), self.encoder.dim), np.float32)
        for i in range(len(rows)):
            rows[i] = self.encoder.pool(self.features[i : i + 1], self.weight[i : i + 1])
        return rows


def embed_recording(
    recording: Recording, encoder: Encoder, *, row: str, longest: float, deadline: Deadline
) -> EmbeddedRecording:
    """Decode and embed a recording.

    Parameters
    ----------
    recording : Recording
        From an upload.
    encoder : Encoder
        What embeds it; usually one that shares its batches with other requests.
    row : str
        The hash of its content.
    longest : float
        Seconds of sound after which it is refused.
    deadline : Deadline
        When to give up.

    Raises
    ------
    ApiError
        That names the recording and says what is wrong with it.
    """
    # As on the command line: the recording from the mean of its features, windows one by one.
    name = Path(recording.name)
    mean, each = OpenClip(name, 0, False), OpenClip(name, 0, True)
    windows = _windows(recording, encoder, longest, deadline)
    embed_into([mean, each], encoder, windows, PIECE_SECONDS)
    whole, parts = mean.close(encoder), each.close(encoder)
    for result in (whole, parts):
        if isinstance(result, Failure):
            raise _unusable(recording, result.reason)
    assert not isinstance(whole, Failure)
    assert not isinstance(parts, Failure)
    return EmbeddedRecording(
        recording.name,
        row,
        whole.embedding,
        parts.start,
        parts.end,
        parts.weight,
        parts.features,
        encoder,
    )


def _windows(
    recording: Recording, encoder: Encoder, longest: float, deadline: Deadline
) -> Iterator[Window]:
    try:
        for window in encoder_windows(encoder, recording):  # type: ignore[arg-type]
            deadline.check()
            if window.end > longest:
                raise ApiError(
                    422,
                    "too_long",
                    f"it is longer than {longest:g} s, the longest recording taken; cut it",
                    file=recording.name,
                )
            yield window
    except ApiError:
        raise
    except PrismError as error:  # its message begins with the file, which the answer names anyway
        raise _unusable(recording, str(error).removeprefix(f"{recording.name}: ")) from None
    except Exception as error:  # an unexpected decoder error must not fail the other recordings
        raise _unusable(recording, f"it cannot be decoded ({type(error).__name__})") from error


def _unusable(recording: Recording, reason: str) -> ApiError:
    return ApiError(422, "bad_audio", reason, file=recording.name)

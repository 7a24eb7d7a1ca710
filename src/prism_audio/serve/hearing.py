"""One recording to its embedding, on a thread, within limits that are kept while it is decoded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.windows import Window
from prism_audio.encoders.embedding.clips import Failure, OpenClip
from prism_audio.encoders.embedding.recordings import embed_into
from prism_audio.encoders.embedding.windows import encoder_windows
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.io.types import Float32
from prism_audio.serve.refusal import Refusal
from prism_audio.serve.uploads import Recording

# Seconds of sound handed to the encoder at once: a request never takes it for long.
PIECE_SECONDS = 16.0


class EmbeddedRecording(NamedTuple):
    """A recording that was heard.

    Attributes
    ----------
    file : str
        What the client called it.
    seconds : float
        Its length.
    embedding : (d,) array
        Its unit vector.
    start, end : (B,) arrays
        Where its windows lie, in seconds.
    windows : (B, d) array
        Their unit vectors; no rows where windows were not asked for.
    """

    file: str
    seconds: float
    embedding: Float32
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    windows: Float32


class Deadline:
    """A moment after which nobody waits for the result any more."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._moment = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then."""
        return max(0.0, self._moment - time.monotonic())

    def refusal(self) -> Refusal:
        """What is said when it has passed."""
        return Refusal(
            408,
            "too_slow",
            f"the request took longer than {self._seconds:g} s; send fewer or shorter recordings",
        )

    def check(self) -> None:
        """Raise once it has passed."""
        if not self.left:
            raise self.refusal()


def hear(
    recording: Recording,
    encoder: Encoder,
    *,
    longest: float,
    deadline: Deadline,
    each_window: bool = False,
) -> EmbeddedRecording:
    """Decode and embed a recording.

    Parameters
    ----------
    recording : Recording
        From an upload.
    encoder : Encoder
        What embeds it; usually a shared one.
    longest : float
        Seconds of sound after which it is refused.
    deadline : Deadline
        When to give up.
    each_window : bool
        Embed every window by itself, too.

    Raises
    ------
    Refusal
        That names the recording and says what is wrong with it.
    """
    # As the command line has it: the recording from its mean features, windows one by one.
    name = Path(recording.name)
    clips = [OpenClip(name, 0, False)] + [OpenClip(name, 0, True)] * each_window
    embed_into(clips, encoder, _within(recording, encoder, longest, deadline), PIECE_SECONDS)
    results = [clip.close(encoder) for clip in clips]
    for result in results:
        if isinstance(result, Failure):
            raise _unusable(recording, result.reason)
    whole, each = results[0], results[-1]
    assert not isinstance(whole, Failure)
    assert not isinstance(each, Failure)
    rows = each.rows(encoder) if each_window else np.empty((0, encoder.dim), np.float32)
    return EmbeddedRecording(
        recording.name, whole.seconds, whole.embedding, each.start, each.end, rows
    )


def _within(
    recording: Recording, encoder: Encoder, longest: float, deadline: Deadline
) -> Iterator[Window]:
    try:
        for window in encoder_windows(encoder, recording):  # type: ignore[arg-type]
            deadline.check()
            if window.end > longest:
                raise Refusal(
                    422,
                    "too_long",
                    f"it is longer than {longest:g} s, the longest recording taken; cut it",
                    file=recording.name,
                )
            yield window
    except Refusal:
        raise
    except PrismError as error:  # its message opens with the file, which the answer names anyway
        raise _unusable(recording, str(error).removeprefix(f"{recording.name}: ")) from None
    except Exception as error:  # a decoder's surprise must not cost the other recordings
        raise _unusable(recording, f"it cannot be decoded ({type(error).__name__})") from error


def _unusable(recording: Recording, reason: str) -> Refusal:
    return Refusal(422, "bad_audio", reason, file=recording.name)

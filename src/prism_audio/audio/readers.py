"""The decoder of a recording: soundfile for what it knows, PyAV (if installed) for the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import soundfile

from prism_audio.audio import container
from prism_audio.audio.source import OpenRecording
from prism_audio.errors import AudioError
from prism_audio.io.types import Float32

log = logging.getLogger(__name__)

# libsndfile's way to say that a stream does not tell its length.
_LENGTH_UNKNOWN = 1 << 62


class Reader(NamedTuple):
    """An open recording, as its decoder describes it.

    ``frames`` is what the header promises (None: it does not say); ``blocks(n)`` gives the samples
    in order as arrays (about n at most, channels), and raises :class:`AudioError` at damage.
    """

    rate: int
    channels: int
    frames: int | None
    format: str
    blocks: Callable[[int], Iterator[Float32]]


@contextmanager
def reader(source: OpenRecording) -> Iterator[Reader]:
    """Open a recording with the decoder that knows it."""
    view = container.known(source)
    reason = "its bytes are not those of a wav, flac, ogg, mp3 or aiff file"
    if view is not None:
        try:
            file = _Forward(view)
        except (soundfile.SoundFileError, TypeError, ValueError) as error:
            if view.failure is not None:
                raise view.failure from error
            reason = f"it cannot be opened ({_said(error)})"
        else:
            with file:
                yield _soundfile_reader(source, view, file)
            return
    try:
        from prism_audio.audio.av_reader import av_reader
    except ImportError:
        raise source.refused(
            reason,
            "If it plays elsewhere, install the second decoder: pip install 'prism-audio[av]'; "
            "or convert it to wav or flac.",
        ) from None
    with av_reader(source, reason) as found:
        yield found


def damaged(source: OpenRecording, seconds: float, said: object) -> AudioError:
    """Build the error for a recording that breaks off ``seconds`` after its start."""
    return source.refused(
        f"it is damaged after {seconds:.2f} s ({said})",
        "Copy it again from where it came; to keep the sound before the damage, convert it: "
        "ffmpeg -i <file> <new>.wav",
    )


class _Forward(soundfile.SoundFile):  # type: ignore[misc]  # soundfile has no type hints
    """A file read from its beginning to its end.

    A file that can seek is made to seek after every read, to where it already is: MP3 decoders
    then round otherwise, and a FLAC stream of unstated length fails.
    """

    def seekable(self) -> bool:
        return False


def _soundfile_reader(source: OpenRecording, view: container.View, file: _Forward) -> Reader:
    rate = file.samplerate
    promised = None if file.frames >= _LENGTH_UNKNOWN else file.frames

    def blocks(size: int) -> Iterator[Float32]:
        done = 0
        while True:
            try:
                block = file.read(size, dtype="float32", always_2d=True)
            except (soundfile.SoundFileError, ValueError) as error:
                raise view.failure or damaged(source, done / rate, _said(error)) from error
            if view.failure is not None:
                raise view.failure
            # A short block is not the end: Ogg gives one at a hole and then goes on.
            if not len(block):
                break
            done += len(block)
            yield block
        if promised is not None and 0 < done < promised:
            ends, said = done / rate, promised / rate
            log.warning("%s: ends at %.2f s, its header said %.2f s", source.name, ends, said)

    return Reader(rate, file.channels, promised, f"{file.format} {file.subtype}", blocks)


def _said(error: Exception) -> str:
    """The decoder's own words, without the address of our view in them."""
    words = str(getattr(error, "error_string", error))
    return words.removeprefix("Error : ").rstrip(".")

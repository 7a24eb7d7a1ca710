"""Choose the decoder of a recording: soundfile for what it knows, PyAV (if installed) for the rest.

soundfile (libsndfile) reads wav, flac, ogg, opus, mp3, aiff and their kin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext

import soundfile

from prism_audio.audio import container
from prism_audio.audio.container import View
from prism_audio.audio.source import OpenRecording, Reader
from prism_audio.io.types import Float32

# libsndfile's way to say that a stream does not tell its length.
_LENGTH_UNKNOWN = 1 << 62


class Unknown(Exception):
    """libsndfile cannot open the file; the message says why."""


@contextmanager
def open_reader(source: OpenRecording) -> Iterator[Reader]:
    """Open a recording with the decoder that knows it."""
    if source.size == 0:
        raise source.refused("the file is empty (0 bytes)", "Copy or record it again.")
    reason = "its bytes are not those of a wav, flac, ogg, mp3 or aiff file"
    with ExitStack() as stack:
        if views := container.known(source):
            try:
                reader = stack.enter_context(soundfile_reader(source, views))
            except Unknown as error:
                reason = f"it cannot be opened ({error})"
            else:
                yield reader
                return
        try:
            from prism_audio.audio.av_reader import av_reader
        except ImportError:
            raise source.refused(
                reason,
                "If it plays elsewhere, install the second decoder: pip install 'prism-audio[av]'; "
                "or convert it to wav or flac.",
            ) from None
        yield stack.enter_context(av_reader(source, reason))


@contextmanager
def soundfile_reader(source: OpenRecording, views: Sequence[View]) -> Iterator[Reader]:
    """Open a recording whose sound lies in one view, or in several that follow each other.

    Where libsndfile does not know what the first view holds, that is :class:`Unknown`.
    """
    with _open(views[0]) as first:
        rate, channels = first.samplerate, first.channels

        def blocks(size: int) -> Iterator[Float32]:
            done = 0
            for view in views:
                try:
                    opened = nullcontext(first) if view is views[0] else _open(view)
                except Unknown as error:
                    raise source.damaged(done / rate, error) from error
                with opened as file:
                    if (file.samplerate, file.channels) != (rate, channels):
                        raise source.damaged(done / rate, "rate or channels change")
                    for block in _blocks(source, view, file, size, done):
                        done += len(block)
                        yield block

        frames = _promised(first) if len(views) == 1 else None
        yield Reader(rate, channels, frames, f"{first.format} {first.subtype}", blocks)


class _Forward(soundfile.SoundFile):  # type: ignore[misc]  # soundfile has no type hints
    """A file read from its beginning to its end.

    A file that can seek is made to seek after every read, to where it already is: MP3 decoders
    then round otherwise, and a FLAC stream of unstated length fails.
    """

    def seekable(self) -> bool:
        return False


def _open(view: View) -> _Forward:
    try:
        return _Forward(view)
    except (soundfile.SoundFileError, TypeError, ValueError) as error:
        raise view.failure or Unknown(_message(error)) from error


def _promised(file: _Forward) -> int | None:
    return None if file.frames >= _LENGTH_UNKNOWN else int(file.frames)


def _blocks(
    source: OpenRecording, view: View, file: _Forward, size: int, start: int
) -> Iterator[Float32]:
    """The samples of one view; ``start`` samples of the recording came before it."""
    done, rate, promised = 0, file.samplerate, _promised(file)
    # libsndfile sets all of a buffer that it does not fill to zero: expensive for a short file.
    size = min(size, promised or size)
    while True:
        try:
            block = file.read(size, dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, ValueError) as error:
            failure = source.damaged((start + done) / rate, _message(error))
            raise view.failure or failure from error
        if view.failure is not None:
            raise view.failure
        # A short block is not the end: Ogg gives one at a hole and then goes on.
        if not len(block):
            break
        done += len(block)
        yield block
    if promised is not None and 0 < done < promised:
        ends, length = (start + done) / rate, (start + promised) / rate
        source.warn(f"ends at {ends:.2f} s, its header said {length:.2f} s")


def _message(error: Exception) -> str:
    """The decoder's own words, without the address of our view in them."""
    words = str(getattr(error, "error_string", error))
    return words.removeprefix("Error : ").rstrip(".")

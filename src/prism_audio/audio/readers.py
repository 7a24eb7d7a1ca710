"""Choose the decoder of a recording: soundfile for what it knows, PyAV (if installed) for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from prism_audio.audio import container
from prism_audio.audio.reader import Reader
from prism_audio.audio.soundfile_reader import Unknown, soundfile_reader
from prism_audio.audio.source import OpenRecording


@contextmanager
def open_reader(source: OpenRecording) -> Iterator[Reader]:
    """Open a recording with the decoder that knows it."""
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

"""The optional second decoder, PyAV: m4a, aac and the sound of video. Needs the extra ``[av]``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import av
import numpy as np

from prism_audio.audio import container
from prism_audio.audio.source import OpenRecording, Reader
from prism_audio.io.types import Float32

# Media files only: a playlist would make the decoder read other files and addresses.
_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,aac,asf,avi,flv,mpeg,mpegts,amr,ogg,mp3,wav"

_CONVERT = "If it plays elsewhere, convert it: ffmpeg -i <file> <new>.wav"


@contextmanager
def av_reader(source: OpenRecording, reason: str) -> Iterator[Reader]:
    """Open a recording that soundfile refused for ``reason``."""
    view = container.whole(source)
    options = {"format_whitelist": _FORMATS, "protocol_whitelist": "none"}
    try:
        opened: Any = av.open(view, options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError) as error:
        refusal = source.refused(f"{reason}, and PyAV cannot open it either", _CONVERT)
        raise view.failure or refusal from error
    with opened as media:
        if not media.streams.audio:
            raise source.refused("it has no sound track", "Give a recording with sound.")
        track = media.streams.audio[0]
        if track.codec_context is None:
            raise source.refused("its sound is in a coding that PyAV does not know", _CONVERT)
        kind = f"{media.format.name.split(',')[0]} {track.codec_context.name}"

        def blocks(size: int) -> Iterator[Float32]:
            done, given, parts = 0, 0, []
            # This changes the layout in memory alone; rate and channels stay those of the track.
            planar = av.AudioResampler(format="fltp")
            try:
                for frame in media.decode(track):
                    if (frame.sample_rate, frame.layout.nb_channels) != (
                        track.rate,
                        track.channels,
                    ):
                        raise source.damaged(done / track.rate, "rate or channels change")
                    for part in planar.resample(frame):
                        done += part.samples
                        parts.append(part.to_ndarray().T)
                    if done - given >= size:
                        yield np.concatenate(parts)
                        given, parts = done, []
            except (av.FFmpegError, ValueError) as error:
                raise view.failure or source.damaged(done / track.rate, error) from error
            if parts:
                yield np.concatenate(parts)

        yield Reader(track.rate or 0, track.channels or 0, _frames(media, track), kind, blocks)


def _frames(media: Any, track: Any) -> int | None:
    """Samples that the header promises, if it does."""
    if track.duration and track.time_base:
        return int(track.duration * track.time_base * track.rate)
    return int(media.duration / av.time_base * track.rate) if media.duration else None

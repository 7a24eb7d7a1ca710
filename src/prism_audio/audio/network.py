"""Audio from network streams (RTSP, HTTP) by PyAV: time limits, reconnection and a watchdog.

A camera or a radio station fails in many ways: it is off, it hangs, it sends silence, it comes back
an hour later. A stream here goes on through all of them and says what state it is in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from prism_audio.audio.gate import check_rate, mono_blocks
from prism_audio.audio.watchdog import StateCallback, StreamState, Watchdog
from prism_audio.errors import AudioError, InputError
from prism_audio.io.runtime import import_extra
from prism_audio.io.types import Float32

log = logging.getLogger(__name__)

SCHEMES = ("rtsp", "rtsps", "http", "https")
# No other: a playlist from the network must not make the decoder open local files.
_PROTOCOLS = "rtsp,rtp,udp,tcp,tls,http,https,httpproxy,crypto"


def log_state(state: StreamState, message: str) -> None:
    """Write a state of a stream to the log; as a warning where no sound comes."""
    bad = state in (StreamState.lost, StreamState.silent)
    log.log(logging.WARNING if bad else logging.INFO, "%s", message)


@dataclass
class NetworkStream:
    """A network stream, and how long to wait for it."""

    # ``rtsp://``, ``rtsps://``, ``http://`` or ``https://``, with a user and password if needed.
    url: str
    # Seconds without a connection or without sound after which it counts as lost.
    timeout: float = 10.0
    silence: float = 60.0  # seconds of silence after which it counts as silent
    # Seconds before it is tried again: the first time, and at most. Each failure doubles the pause;
    # sound resets it.
    first_pause: float = 1.0
    longest_pause: float = 60.0
    # Called with the new state and a message for people, whenever the state changes; by default it
    # is logged. Passwords are left out of messages.
    on_state: StateCallback = log_state
    # Ends the stream when it is set, at the latest after ``timeout``.
    stop: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in SCHEMES or not parts.hostname:
            raise InputError(
                f"{self.name} is not the address of a stream; give one that begins with "
                f"{', '.join(f'{scheme}://' for scheme in SCHEMES)} and names a host"
            )
        self._finite = False

    @property
    def name(self) -> str:
        """The address without user and password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def blocks(self, to_rate: int) -> Iterator[Float32]:
        """The sound as mono float32 blocks at ``to_rate``, until ``stop`` or a recording's end.

        After a lost connection the blocks go on with what is sent then: the sound between is missing.
        """
        to_rate = check_rate(to_rate, "The sampling rate wanted")
        av = import_extra(
            "av", "network streams need the package av: pip install 'prism-audio[av]'"
        )
        watchdog = Watchdog(self.name, self.on_state, self.silence)
        pause = self.first_pause
        while not self.stop.is_set():
            watchdog.change(StreamState.connecting, f"connecting to {self.name}")
            try:
                for block in self._connection(av, to_rate):
                    pause = self.first_pause
                    watchdog.add(block, to_rate)
                    yield block
                if self.stop.is_set():
                    return
                if self._finite:
                    watchdog.change(StreamState.ended, f"{self.name} has come to its end")
                    return
                reason = "the server has closed the stream"
            except (av.FFmpegError, OSError, ValueError, AudioError) as error:
                reason = str(getattr(error, "strerror", None) or error)
            watchdog.lose(f"{reason}; trying again in {pause:.3g} s")
            self.stop.wait(pause)
            pause = min(2 * pause, self.longest_pause)

    def _connection(self, av: Any, to_rate: int) -> Iterator[Float32]:
        options = {"protocol_whitelist": _PROTOCOLS}
        if self.url.lower().startswith("rtsp"):
            options |= {"rtsp_transport": "tcp", "allowed_media_types": "audio"}
        with av.open(self.url, timeout=self.timeout, options=options) as media:
            if not media.streams.audio:
                raise ValueError("it has no sound track")
            track = media.streams.audio[0]
            # A server that knows the length sends a recording, not a live stream.
            self._finite = (
                media.size > 0 if "http" in self.url[:5].lower() else bool(media.duration)
            )
            samples = self._samples(av, media, track)
            yield from mono_blocks(samples, track.rate, to_rate, AudioError)

    def _samples(self, av: Any, media: Any, track: Any) -> Iterator[Float32]:
        planar = av.AudioResampler(format="fltp")
        form = (track.rate, track.channels)
        deadline = time.monotonic() + self.timeout
        for packet in media.demux(track):
            if self.stop.is_set():
                return
            try:
                frames = packet.decode()
            except av.InvalidDataError:  # joined within a frame, or damaged on the way
                frames = []
            for frame in frames:
                if (frame.sample_rate, frame.layout.nb_channels) != form:
                    raise ValueError("its rate or channels have changed")
                for part in planar.resample(frame):
                    deadline = time.monotonic() + self.timeout
                    yield np.asarray(part.to_ndarray().T, dtype=np.float32)
            if time.monotonic() > deadline:
                raise ValueError(f"no sound could be decoded for {self.timeout:g} s")

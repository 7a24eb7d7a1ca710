"""Audio input for listening: raw PCM, the microphone, a network stream or a recording, in mono."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from typing import Any, BinaryIO, cast

import numpy as np

from prism_audio.audio.decode import stream
from prism_audio.audio.gate import check_rate, mono_blocks
from prism_audio.errors import AudioError, InputError, PrismError
from prism_audio.io.types import Float32, Float64

# Format of a sample: its type, and its full scale.
FORMATS = {"s16le": ("<i2", 2.0**15), "s32le": ("<i4", 2.0**31), "f32le": ("<f4", 1.0)}
# Short, so that a window is labelled as soon as it is complete.
BLOCK_SECONDS = 0.1
# Seconds after which a microphone that sends nothing counts as unplugged.
UNPLUGGED = 10.0


def sound_blocks(
    source: str | os.PathLike[str] | BinaryIO | Iterable[Float32],
    to_rate: int,
    *,
    rate: int | None = None,
) -> Iterable[Float32]:
    """Mono float32 blocks at ``to_rate`` from a recording, a network stream, "mic" or raw samples."""
    if source == "mic":
        return microphone_blocks(to_rate)
    if isinstance(source, str) and "://" in source:
        from prism_audio.audio.network import NetworkStream

        return NetworkStream(source).blocks(to_rate)
    if isinstance(source, str | os.PathLike):
        if not Path(source).is_file():
            raise InputError(f"{source}: there is no such recording")
        return stream(source, to_rate)
    if not hasattr(source, "read"):
        return source
    if rate is None:
        raise InputError("raw samples do not tell their rate; say it, for example rate=16000")
    return pcm_blocks(cast(BinaryIO, source), rate, to_rate)


def pcm_blocks(
    file: BinaryIO, rate: int, to_rate: int, *, form: str = "s16le", channels: int = 1
) -> Iterator[Float32]:
    """Raw interleaved samples from an open file or pipe, as mono float32 blocks at ``to_rate``.

    ``form`` is ``s16le``, ``s32le`` or ``f32le``. Channels are averaged. A sample that the end of the
    file cuts in two is dropped.
    """
    rate = check_rate(rate, "The sampling rate of the stream")
    if form not in FORMATS:
        raise InputError(f"the format {form!r} is unknown; choose one of {', '.join(FORMATS)}")
    if channels < 1:
        raise InputError(f"{channels} channels were given; a stream has at least one")
    yield from mono_blocks(
        _pcm(file, rate, form, channels),
        rate,
        to_rate,
        lambda reason: AudioError(
            f"standard input: {reason}. Check --format, --rate and --channels: "
            f"they say {form}, {rate} Hz, {channels}"
        ),
    )


def _pcm(file: BinaryIO, rate: int, form: str, channels: int) -> Iterator[Float64]:
    kind, full_scale = FORMATS[form]
    frame = np.dtype(kind).itemsize * channels
    rest = b""
    while data := file.read(max(1, round(BLOCK_SECONDS * rate)) * frame):
        rest += data
        whole = len(rest) - len(rest) % frame
        yield np.frombuffer(rest[:whole], kind).reshape(-1, channels) / full_scale
        rest = rest[whole:]


def microphone_blocks(
    to_rate: int, device: str | None = None, stop: Event | None = None
) -> Iterator[Float32]:
    """Sound from the microphone, as mono float32 blocks at ``to_rate``, until ``stop`` is set."""
    try:
        import sounddevice
    except ImportError:
        raise PrismError(
            "the microphone needs the package sounddevice: pip install 'prism-audio[mic]'; "
            "or pipe raw samples in: arecord -f S16_LE -r 16000 | prism listen - --rate 16000"
        ) from None
    except OSError as error:  # the package is there, the system's PortAudio is not
        raise PrismError(
            f"the microphone cannot be used: {error}; install PortAudio (Debian: libportaudio2)"
        ) from None
    chosen = int(device) if device is not None and device.isdecimal() else device
    try:
        rate = int(sounddevice.query_devices(chosen, "input")["default_samplerate"])
        yield from mono_blocks(
            _microphone(sounddevice, chosen, rate, stop or Event()),
            rate,
            to_rate,
            lambda reason: AudioError(f"microphone: {reason}. Check the device and its driver"),
        )
    except (sounddevice.PortAudioError, ValueError) as error:
        raise PrismError(
            f"the microphone {'' if device is None else device + ' '}cannot be used: {error}; "
            "'python -m sounddevice' lists the devices"
        ) from None


def _microphone(
    sounddevice: Any, device: str | int | None, rate: int, stop: Event
) -> Iterator[Float32]:
    blocks: Queue[Float32] = Queue()

    def take(samples: Float32, *_: Any) -> None:
        blocks.put(samples.copy())

    with sounddevice.InputStream(
        samplerate=rate,
        channels=1,
        dtype="float32",
        device=device,
        blocksize=round(BLOCK_SECONDS * rate),
        callback=take,
    ):
        last = time.monotonic()
        while not stop.is_set():
            # Without a timeout Ctrl-C would not get through on every system.
            with suppress(Empty):
                yield blocks.get(timeout=0.5)
                last = time.monotonic()
            if time.monotonic() - last > UNPLUGGED:
                raise AudioError(f"microphone: no sound for {UNPLUGGED:g} s. Is it unplugged?")

"""The windows of a recording or stream as an encoder wants them: rate, length, hop and padding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prism_audio.audio.decode import AudioSource, stream
from prism_audio.audio.windows import Window, windows
from prism_audio.encoders.protocol import Encoder
from prism_audio.io.types import Float32


def encoder_windows(encoder: Encoder, source: AudioSource) -> Iterator[Window]:
    """The windows of a recording: a path, an open file, or a pair (samples, rate in Hz)."""
    return stream_windows(encoder, stream(source, encoder.rate), encoder.hop)


def stream_windows(encoder: Encoder, blocks: Iterable[Float32], hop: float) -> Iterator[Window]:
    """The windows of mono blocks at the encoder's rate, one every ``hop`` seconds."""
    cut = windows(blocks, encoder.rate, encoder.window, hop)
    if not hasattr(encoder, "pad"):
        return cut
    return (w._replace(samples=padded(encoder, w.samples, w.weight)) for w in cut)


def padded(encoder: Encoder, samples: Float32, seconds: float) -> Float32:
    """A window of which ``seconds`` are sound and the rest zeros, padded as the encoder wants it."""
    pad = getattr(encoder, "pad", None)
    filled = round(seconds * encoder.rate)
    return samples if pad is None or filled >= len(samples) else pad(samples[:filled])

"""Encoders: sound and text into one space.

>>> from prism_audio.encoders import embed_audio, load_encoder
>>> encoder = load_encoder("concepts")                                 # doctest: +SKIP
>>> E = embed_audio(encoder, ["street.wav", (samples, 44100)])         # doctest: +SKIP
>>> T = encoder.embed_text(["a siren", "a dog barking"])               # doctest: +SKIP
"""

from __future__ import annotations

from prism_audio.encoders.embedding.recordings import Timeline, embed_audio, embed_timeline
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import load_encoder

__all__ = ["Encoder", "Timeline", "embed_audio", "embed_timeline", "load_encoder"]

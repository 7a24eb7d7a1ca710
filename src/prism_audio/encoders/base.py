"""What PRISM asks of an encoder: sound and text into one space, the same bytes at every call.

An encoder sees fixed windows of sound and gives each a row of *features*; it says itself how the
features of one recording become one unit vector (``pool``), because that differs between towers:
CLAP averages window embeddings, a tagger averages class scores before it takes their logarithm.
Everything else (decoding, windows, batching) is done once, in :mod:`prism_audio.audio`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]


@runtime_checkable
class Encoder(Protocol):
    """The protocol. Deterministic, and no member of a batch may influence another.

    Attributes
    ----------
    id : str
        The name a user types after ``--encoder``.
    fingerprint : str
        A hash of all that changes an embedding: weights, pre-processing, versions of both.
    dim : int
        Width d of the joint space.
    rate : int
        Sampling rate in Hz of the windows it wants.
    window, hop : float
        Seconds of sound in a window, and seconds from one window's start to the next one's.
    """

    id: str
    fingerprint: str
    dim: int
    rate: int
    window: float
    hop: float

    def embed_windows(self, windows: Float32) -> Float32:
        """Features (B, f) of windows (B, round(window * rate)), mono float32 in [-1, 1]."""
        ...

    def pool(self, features: Float32, weights: Float32) -> Float32:
        """One unit vector (d,) for features (B, f); a weight is the seconds of real sound seen."""
        ...

    def embed_text(self, texts: Sequence[str]) -> Float32:
        """Unit rows (len(texts), d) in the order of ``texts``."""
        ...

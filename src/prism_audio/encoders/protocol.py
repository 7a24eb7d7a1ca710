"""The protocol of an encoder: sound and text become vectors of one space.

An encoder sees fixed windows of sound and gives each a row of *features*. It says itself how the
features of one recording become one unit vector (``pool``), because that differs between models:
CLAP averages window embeddings, a tagger averages class scores before it takes their logarithm.
Everything else (decoding, windows, batches) is done once, in :mod:`prism_audio.audio` and
:mod:`prism_audio.encoders.embedding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from prism_audio.io.types import Float32


@runtime_checkable
class Encoder(Protocol):
    """Sound and text into one space: deterministic, and no window or text influences another.

    ``embed_windows`` and ``embed_text`` may be called from several threads at once. An encoder that
    was trained on short sounds padded with something other than zeros may have a further method
    ``pad(sound) -> window``, which is then used for the last window of a recording.

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
        """One unit vector (d,) for features (B, f); a weight is the seconds of real sound seen.

        Digital silence, which has no direction, gives zeros.

        It depends on the features through their weighted mean alone, so that a recording of any
        length can be added up while it is read.
        """
        ...

    def embed_text(self, texts: Sequence[str]) -> Float32:
        """Unit rows (len(texts), d) in the order of ``texts``."""
        ...

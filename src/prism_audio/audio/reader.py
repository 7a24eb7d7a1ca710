"""What a decoder gives: a description of an open recording, and its samples in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from prism_audio.io.types import Float32


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

"""``concepts``, the embedded default: sound and text as mixtures of the 521 AudioSet concepts.

A tagger's concept space, not CLAP: it can tell apart what its concepts tell apart. Sound is scored
by YAMNet; with s the mean scores of a recording and p a fixed prior,

    e = normalise(log((s + 1e-3) / (p + 1e-3))).

A text is compared with a sentence about every concept by all-MiniLM-L6-v2; with v the vectors of
text and sentences, both less the mean of the sentences,

    t = normalise(softmax(cos(v_text, v_concept) / 0.04)).

``docs/encoders.md`` says how prior, sentences and temperature were chosen.
"""

from __future__ import annotations

import csv
import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import numpy as np

from prism_audio.encoders import assets
from prism_audio.encoders.concepts.minilm import MiniLM
from prism_audio.encoders.concepts.yamnet import CONCEPTS, HOP, RATE, SAMPLES, YamNet
from prism_audio.errors import InputError
from prism_audio.io.types import Float32, Float64

# Raised when the computation around the models changes an embedding.
_VERSION = 1
FLOOR = 1e-3
# Scores that differ by no more than this part are the same up to rounding.
SAME = 1e-5
TEMPERATURE = 0.04
# The sentence about a concept that a text is compared with; its name is in lower case.
SENTENCE = "the sound of {name}: {description}"


class Concept(NamedTuple):
    """One of the 521: AudioSet's name for it, and our line about how it sounds."""

    name: str
    description: str


class Space(NamedTuple):
    """What was measured once and is shipped: the prior, and the vectors of the 521 sentences."""

    prior: Float64
    vectors: Float64


class ConceptsEncoder:
    """The 521 AudioSet concepts as an audio-text space.

    Its model files (27 MB) are fetched at the first use and checked; from then on it needs no
    network. The text tower starts only when a text comes.

    Parameters
    ----------
    assets_folder : path, optional
        A folder with the model files; see :func:`prism_audio.encoders.assets.resolve`.
    threads : int, optional
        Interpreters at work on sound; by default one for every core, and one more.

    Attributes
    ----------
    id, fingerprint, dim, rate, window, hop
        As in :class:`~prism_audio.encoders.protocol.Encoder`.
    names : tuple of str
        The concepts, in the order of the dimensions.
    """

    id = "concepts"
    dim = CONCEPTS
    rate = RATE
    window = SAMPLES / RATE
    hop = HOP / RATE

    def __init__(
        self,
        assets_folder: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self._options = (assets_folder, threads)
        # All of them now, so that whoever has embedded sound once can embed text without network.
        self._files = {asset: assets.resolve(asset, assets_folder) for asset in assets.ASSETS}
        self._audio = YamNet(self._files[assets.YAMNET], threads)
        self._text: MiniLM | None = None
        self._starting = threading.Lock()
        self.fingerprint = _fingerprint()
        self.names = tuple(concept.name for concept in concepts())

    def embed_windows(self, windows: Float32) -> Float32:
        """Scores (B, 521), each 0 to 1, of windows (B, 15600)."""
        return self._audio.scores(windows)

    def pool(self, features: Float32, weights: Float32) -> Float32:
        """The unit vector (521,) of a recording: log-ratio of its mean scores to the prior.

        Zero if all of it is digital silence.
        """
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(features),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise InputError("pooling wants one weight a row, none negative, not all zero")
        s = weights @ np.asarray(features, dtype=np.float64) / weights.sum()
        if (np.abs(s - (silence := self._audio.silence)) <= SAME * silence).all():
            return np.zeros(CONCEPTS, np.float32)
        return _unit(np.log((s + FLOOR) / (space().prior + FLOOR))).astype(np.float32)

    def embed_text(self, texts: Sequence[str]) -> Float32:
        """Unit rows (len(texts), 521) in the order of ``texts``; none is negative."""
        vectors = self._text_tower().vectors(texts).astype(np.float64)
        rows = [_mixture(vector) for vector in vectors]
        return np.array(rows, np.float32).reshape(len(rows), CONCEPTS)

    def _text_tower(self) -> MiniLM:
        with self._starting:
            if self._text is None:
                self._text = MiniLM(self._files[assets.MINILM], self._files[assets.TOKENIZER])
            return self._text

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # Interpreters and sessions cannot travel to another process; what makes them can.
        folder, threads = self._options
        return partial(ConceptsEncoder, threads=threads), (folder,)


@cache
def concepts() -> tuple[Concept, ...]:
    """The 521 concepts in the order of YAMNet's scores."""
    lines = _data("concepts.csv").read_text(encoding="utf-8").splitlines()
    return tuple(Concept(row["name"], row["description"]) for row in csv.DictReader(lines))


@cache
def space() -> Space:
    """The shipped numbers."""
    from safetensors.numpy import load

    arrays = load(_data("concepts.safetensors").read_bytes())
    return Space(*(arrays[name].astype(np.float64) for name in Space._fields))


def _mixture(vector: Float64) -> Float64:
    centre, sentences = _centred()
    z = sentences @ _unit(vector - centre) / TEMPERATURE
    return _unit(np.exp(z - z.max()))


@cache
def _centred() -> tuple[Float64, Float64]:
    vectors = space().vectors
    centre = vectors.mean(axis=0)
    return centre, _unit(vectors - centre)


def _unit(rows: Float64) -> Float64:
    unit: Float64 = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit


@cache
def _fingerprint() -> str:
    constants = (_VERSION, FLOOR, TEMPERATURE, SENTENCE, *(a.sha256 for a in assets.ASSETS))
    digest = hashlib.sha256(repr(constants).encode())
    digest.update(_data("concepts.safetensors").read_bytes())
    return digest.hexdigest()


def _data(name: str) -> Traversable:
    return files("prism_audio.encoders.concepts") / name

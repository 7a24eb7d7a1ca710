"""Denoise first: spectral gating of the sound before the encoder hears it.

    E = embed_audio(encoder, [(denoise(samples, rate), rate) for samples in recordings])

Source: Sainburg, Thielk and Gentner, "Finding, visualizing, and quantifying latent structure across
diverse animal vocal repertoires", PLOS Computational Biology 2020, as the package ``noisereduce``, with
its own settings: the noise is estimated from the recording itself. It works on sound, so it is not in
the registry: run any method on the embeddings of the cleaned recordings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_audio.audio.arrays import from_array
from prism_audio.io.runtime import import_extra

# 180 dB below full scale. Digital silence would make the gate divide zero by zero.
DITHER = 1e-9


def load_noisereduce() -> Any:
    """The package that reduces noise, or an error that says how to install it."""
    return import_extra(
        "noisereduce", "denoise needs the package noisereduce: pip install 'prism-audio[denoise]'"
    )


def denoise(samples: Any, rate: int) -> NDArray[np.float32]:
    """Reduce the noise of a recording by spectral gating: mono float32 of the same length.

    Parameters
    ----------
    samples : array
        Sound as :func:`prism_audio.audio.arrays.from_array` takes it: any number of channels.
    rate : int
        Samples a second.
    """
    reduce_noise = load_noisereduce().reduce_noise
    sound = from_array(samples, rate, rate).astype(np.float64)
    sound += DITHER * np.random.default_rng(0).standard_normal(len(sound))
    return np.asarray(reduce_noise(y=sound, sr=rate), dtype=np.float32)

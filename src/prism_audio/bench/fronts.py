"""What may be done to a mixture before the encoder hears it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]


def unchanged(samples: Samples, rate: int) -> Samples:
    """The mixture as it is."""
    return samples


def noisereduce(samples: Samples, rate: int) -> Samples:
    """Spectral gating, the first thing that a person would try."""
    from prism_audio.methods.denoise import denoise

    return denoise(samples, rate)


FRONTS: dict[str, Callable[[Samples, int], Samples]] = {"": unchanged, "noisereduce": noisereduce}

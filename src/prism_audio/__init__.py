"""PRISM: zero-shot sound classification in noisy places.

>>> import prism_audio as prism
>>> site = prism.calibrate("recordings/", labels=["dog bark", "siren"])    # doctest: +SKIP
>>> table = prism.classify("new/", site)                                   # doctest: +SKIP
>>> for event in prism.listen("long.wav", site): print(event.label)        # doctest: +SKIP

On embeddings that you already have:

>>> model = prism.PRISM().fit(E, prototypes=T)                             # doctest: +SKIP
>>> model.predict(E)                                                       # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prism_audio._version import __version__
from prism_audio.errors import PrismError

if TYPE_CHECKING:
    from prism_audio.labelling.api import calibrate, classify, listen
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.estimator import PRISM

__all__ = [
    "PRISM", "Adapter", "PrismError", "__version__", "calibrate", "classify", "listen",
]  # fmt: skip

# scikit-learn takes longer to import than a saved adapter takes to classify a clip.
_LAZY = {
    "PRISM": "prism_audio.model.estimator",
    "Adapter": "prism_audio.model.adapter",
    "calibrate": "prism_audio.labelling.api",
    "classify": "prism_audio.labelling.api",
    "listen": "prism_audio.labelling.api",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

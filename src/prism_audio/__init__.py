"""PRISM: zero-shot sound classification in noisy places.

>>> from prism_audio import PRISM, Adapter
>>> model = PRISM(preset="default").fit(E, prototypes=T)   # doctest: +SKIP
>>> model.predict(E)                                       # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prism_audio._version import __version__
from prism_audio.errors import PrismError

if TYPE_CHECKING:
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.estimator import PRISM

__all__ = ["PRISM", "Adapter", "PrismError", "__version__"]

# scikit-learn takes longer to import than a saved adapter takes to classify a clip.
_LAZY = {"PRISM": "prism_audio.model.estimator", "Adapter": "prism_audio.model.adapter"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Every method that PRISM is compared with, behind one interface.

>>> from prism_audio.methods import METHODS, Context, make
>>> fitted = make("tda").fit(E, T)                         # doctest: +SKIP
>>> fitted.labels, fitted.predict(E_new)                   # doctest: +SKIP

One method a file; each header states the source and every deviation from it. ``denoise`` works on
sound, before the encoder, and is not in the registry.
"""

from prism_audio.methods.base import Context, Fitted, Kind, Method
from prism_audio.methods.registry import METHODS, make

__all__ = ["METHODS", "Context", "Fitted", "Kind", "Method", "make"]

"""Every method that PRISM is compared with, on the same embeddings, under one protocol.

>>> from prism_audio.methods import METHODS, Context, make
>>> fitted = make("tda").fit(E, T)                         # doctest: +SKIP
>>> fitted.labels, fitted.predict(E_new)                   # doctest: +SKIP

One method a file; each opens with its source and where it deviates. ``denoise`` works on sound before
the encoder and stands apart.
"""

from prism_audio.methods.base import Context, Fitted, Kind, Method
from prism_audio.methods.registry import METHODS, make

__all__ = ["METHODS", "Context", "Fitted", "Kind", "Method", "make"]

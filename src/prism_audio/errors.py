"""The one root of every error that PRISM raises on purpose.

A message says what came, what was wanted and what to do. Anything else that reaches a user is a bug.
"""

from __future__ import annotations


class PrismError(Exception):
    """Something PRISM cannot do, with the reason and the remedy in its message."""


class InputError(PrismError, ValueError):
    """An argument or an array that cannot be used. A ``ValueError`` too, as scikit-learn expects."""


class InputTypeError(InputError, TypeError):
    """An array whose cells are not numbers."""


class AudioError(PrismError):
    """A recording that cannot be decoded; the message names the file, the reason and the remedy."""


class AssetError(PrismError):
    """A model file that is missing, could not be fetched, or is not the one that was pinned."""


class AdapterError(PrismError):
    """A file that is not a usable adapter; the message says which check it failed."""


class StoreError(PrismError):
    """A store of embeddings that cannot be read or added to."""


class PrismWarning(UserWarning):
    """Something worth knowing that stops nothing; commands print it as a note."""

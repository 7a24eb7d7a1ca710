"""One protocol for everything we compare with: embeddings and prototypes in, labels out.

    fitted = make("tda").fit(E, T)        # E (N, d) unlabelled audio, T (C, d) text
    fitted.labels                         # (N,) the transductive answer: labels of E itself
    fitted.predict(E_new)                 # labels of clips that were not there at calibration

Every method sees the same unit rows. What an oracle may see besides stands in a :class:`Context`;
every other method ignores it. Nothing here is random.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from prism_audio.errors import InputError
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, assign_folded, unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float, Float64

Serve = Callable[[Float64], Labels]


class Kind(StrEnum):
    """What a method stands for in a comparison."""

    BLIND = "blind"  # of the paper's comparison; sees the embeddings alone
    ORACLE = "oracle"  # is told what the background is
    CONTROL = "control"  # too simple to win; shows what a simple cause explains
    RIVAL = "rival"  # beyond the paper: what a reviewer would ask for
    OURS = "ours"


@dataclass(frozen=True)
class Context:
    """What is known of the place besides its recordings. Only oracles look.

    Attributes
    ----------
    background_text : (P, d) array, optional
        Embedded prompts about the background; the paper uses three.
    background_audio : (d,) or (n, d) array, optional
        Embeddings of the background alone, without events.
    class_names : tuple of str
        The classes in the order of the prototypes.
    """

    background_text: Any = None
    background_audio: Any = None
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """What a method leaves behind.

    Attributes
    ----------
    labels : (N,) array
        Class of every row it was fitted on.
    serve : callable, optional
        Unit rows of float64 to labels; None where the method has no answer for unseen clips.
    size : int
        How many numbers must be kept to serve.
    dim : int
        Width d of the embeddings.
    """

    labels: Labels
    dim: int
    serve: Serve | None = None
    size: int = 0

    def predict(self, E: Any) -> Labels:
        """Class index of every row of ``E`` (M, d), clips that need not have been seen before."""
        if self.serve is None:
            raise InputError(
                "this method labels only the clips it was fitted on; fit it on these too"
            )
        rows, _ = as_rows(E, "E", self.dim)
        return self.serve(unit_rows(rows).astype(np.float64))


class Method(ABC):
    """What every method has.

    Attributes
    ----------
    name : str
        Its key in the registry.
    origin : str
        The paper it comes from, in one line.
    kind : Kind
        What it stands for in a comparison.
    gradients : bool
        Whether it descends a gradient.
    streaming : bool
        Whether it takes the clips one by one, so that their order matters.
    """

    name: ClassVar[str]
    origin: ClassVar[str]
    kind: ClassVar[Kind]
    gradients: ClassVar[bool] = False
    streaming: ClassVar[bool] = False

    @abstractmethod
    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        """Adapt to embeddings ``E`` (N, d) of the classes with text prototypes ``T`` (C, d)."""

    @classmethod
    @abstractmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of what its constructor takes."""


@dataclass(frozen=True)
class RowMethod(Method):
    """A method that works on unit rows of float64; ``fit`` checks and normalises for it.

    Its parameters are the fields of a dataclass, and all of them are positive.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value, whole = getattr(self, field.name), isinstance(field.default, int)
            if isinstance(field.default, tuple) or (field.name == "scale" and value == "matched"):
                continue
            number = isinstance(value, int | float | np.number) and 0 < value < np.inf
            if not number or (whole and value != int(value)):
                wanted = "a whole number from 1 up" if whole else "a positive number"
                wanted += " or 'matched'" if field.name == "scale" else ""
                raise InputError(f"{self.name}: {field.name}={value!r}; wanted {wanted}")

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))

    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        rows, _ = as_rows(E, "E")
        text, _ = as_rows(T, "T", rows.shape[1])
        units = unit_rows(rows).astype(np.float64), unit_rows(text).astype(np.float64)
        return self.adapt(*units, context or Context())

    @abstractmethod
    def adapt(self, E: Float64, T: Float64, context: Context) -> Fitted:
        """The work of :meth:`fit`; the rows must not be written into."""


def linear_head(E: Float, A: Float, b: Float | None = None) -> Fitted:
    """The classifier argmax_c (e A + b)_c, with ``A`` (d, C) and ``b`` (C,), applied to ``E``.

    Most methods end here, whatever they do before: a site is then C vectors and C numbers.
    """
    d, C = A.shape
    head = np.vstack([A, np.zeros(C) if b is None else b]).astype(np.float64)

    def serve(X: Float) -> Labels:
        return assign_folded(X, head)

    return Fitted(serve(E), d, serve, head.size)


def highest(score: Callable[[Float64], Float64]) -> Serve:
    """Serve the argmax of ``score``, which takes rows (M, d) to (M, C), a block of rows at a time."""

    def serve(X: Float64) -> Labels:
        return np.concatenate([score(X[rows]).argmax(axis=1) for rows in row_blocks(len(X))])

    return serve

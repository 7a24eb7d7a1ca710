"""The interface of every compared method: embeddings and prototypes in, labels out.

    fitted = make("tda").fit(E, T)        # E (N, d) unlabelled audio, T (C, d) text
    fitted.labels                         # (N,) the transductive answer: labels of E itself
    fitted.predict(E_new)                 # labels of clips that were not there at calibration

Every method sees the same unit rows. An oracle is also given a :class:`Context`; every other method
ignores it. No method draws random numbers.
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
    """The role of a method in a comparison."""

    BLIND = "blind"  # in the paper's comparison; sees the embeddings alone
    ORACLE = "oracle"  # is told what the background is
    CONTROL = "control"  # simple; shows how much a simple cause explains
    RIVAL = "rival"  # not in the paper's comparison, but a reviewer would ask for it
    OURS = "ours"


@dataclass(frozen=True)
class Context:
    """Knowledge besides embeddings and prototypes: the place, for oracles; further text, for some.

    Attributes
    ----------
    background_text : (P, d) array, optional
        Embedded prompts about the background; the paper uses three.
    background_audio : (d,) or (n, d) array, optional
        Embeddings of the background alone, without events.
    prompt_text : (P, C, d) array, optional
        The classes in each prompt template.
    noise_text : (P, C, d) array, optional
        The classes with each noise phrase ("dog bark with traffic noise").
    """

    background_text: Any = None
    background_audio: Any = None
    prompt_text: Any = None
    noise_text: Any = None


@dataclass(frozen=True)
class Fitted:
    """A fitted method: labels of its batch, and a classifier for later clips.

    Attributes
    ----------
    labels : (N,) array
        Class of every row it was fitted on.
    serve : callable, optional
        Unit rows of float64 to labels; None where the method has no answer for unseen clips.
    size : int
        How many numbers the classifier keeps.
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
        return self.serve(checked_units(E, "E", self.dim))


class Method(ABC):
    """A method of the comparison.

    Attributes
    ----------
    name : str
        Its key in the registry.
    origin : str
        The paper it comes from, in one line.
    kind : Kind
        Its role in a comparison.
    gradients : bool
        Whether it descends a gradient.
    needs : str
        The attribute of :class:`Context` that it cannot do without; empty for most.
    """

    name: ClassVar[str]
    origin: ClassVar[str]
    kind: ClassVar[Kind]
    gradients: ClassVar[bool] = False
    needs: ClassVar[str] = ""

    @abstractmethod
    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        """Adapt to embeddings ``E`` (N, d) of the classes with text prototypes ``T`` (C, d)."""

    @classmethod
    @abstractmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the arguments of its constructor."""


@dataclass(frozen=True)
class ParameterMethod(Method):
    """A method whose parameters are the fields of a dataclass; its numbers are all positive."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, whole = getattr(self, field.name), isinstance(field.default, int)
            if isinstance(field.default, tuple | str) or (
                field.name == "scale" and value == "matched"
            ):
                continue
            number = isinstance(value, int | float | np.number) and 0 < value < np.inf
            if not number or (whole and value != int(value)):
                wanted = "a whole number from 1 up" if whole else "a positive number"
                wanted += " or 'matched'" if field.name == "scale" else ""
                raise InputError(f"{self.name}: {field.name}={value!r}; wanted {wanted}")

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))


class RowMethod(ParameterMethod):
    """A method that works on unit rows of float64; ``fit`` checks and normalises for it."""

    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        rows = checked_units(E, "E")
        return self.adapt(rows, checked_units(T, "T", rows.shape[1]))

    @abstractmethod
    def adapt(self, E: Float64, T: Float64) -> Fitted:
        """Fit to unit rows, which must not be changed in place."""


class ContextMethod(ParameterMethod):
    """A method that is also given the rows of the context that its ``needs`` names."""

    def fit(self, E: Any, T: Any, context: Context | None = None) -> Fitted:
        rows = checked_units(E, "E")
        text = checked_units(T, "T", rows.shape[1])
        return self.adapt(rows, text, self._known(context, *text.shape))

    def _known(self, context: Context | None, C: int, d: int) -> Float64:
        """Unit rows (n, d) about the place, or unit texts (P, C, d) about the classes."""
        given = getattr(context, self.needs, None)
        if given is None:
            raise InputError(
                f"{self.name} needs {self.needs}: fit(E, T, Context({self.needs}=...)) with rows as "
                f"wide as E ({d})"
            )
        if self.needs.startswith("background"):
            return checked_units(np.atleast_2d(given), self.needs, d)
        stack = np.asarray(given)
        if stack.ndim != 3 or stack.shape[1:] != (C, d):
            raise InputError(
                f"{self.name}: {self.needs} has shape {stack.shape}; wanted (texts, {C}, {d})"
            )
        return checked_units(stack.reshape(-1, d), self.needs).reshape(stack.shape)

    @abstractmethod
    def adapt(self, E: Float64, T: Float64, known: Float64) -> Fitted:
        """Fit to unit rows, none of which must be changed in place."""


def checked_units(X: Any, name: str, width: int | None = None) -> Float64:
    """Rows (n, d) after all checks, with unit length, as float64."""
    return unit_rows(as_rows(X, name, width)[0]).astype(np.float64)


def linear_head(E: Float, A: Float, b: Float | None = None) -> Fitted:
    """The classifier argmax_c (e A + b)_c, with ``A`` (d, C) and ``b`` (C,), applied to ``E``.

    Most methods end here, whatever they do before: a place is then C vectors and C numbers.
    """
    d, C = A.shape
    head = np.vstack([A, np.zeros(C) if b is None else b]).astype(np.float64)

    def serve(X: Float) -> Labels:
        return assign_folded(X, head)

    return Fitted(serve(E), d, serve, head.size)


def highest(score: Callable[[Float64], Float64]) -> Serve:
    """A classifier by the argmax of ``score`` ((M, d) to (M, C)), applied in blocks of rows."""

    def serve(X: Float64) -> Labels:
        return np.concatenate([score(X[rows]).argmax(axis=1) for rows in row_blocks(len(X))])

    return serve

"""Adapter: the artefact of a calibration, one small file that works from then on for every clip.

    transform(e) = normalize([e | 1] W),     scores(e) = transform(e) T^T
    fold():  A = W_lin T^T (d, C),  b = W_bias T^T (C,)

The argmax over classes does not see the last normalisation, so labels need only the folded head
e A + b: no more expensive than zero-shot itself. No batch statistics anywhere: a clip alone gets the
same answer as in any batch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from prism_audio.errors import AdapterError, InputError
from prism_audio.geometry.abr import apply_map, identity_map
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import Labels, row_norms, unit_rows
from prism_audio.io.arrays import as_matrix, as_rows, refuse_non_finite, to_numpy
from prism_audio.io.atomic import atomic_write
from prism_audio.io.text import counted
from prism_audio.io.types import AnyTensor, Float
from prism_audio.model import card
from prism_audio.model.adapter_file import payload_of, read_card, read_file
from prism_audio.model.facts import Facts

# Between these lengths the squares of a row's entries cannot overflow or vanish in float32.
SHORT, LONG = 1e-15, 1e15
# How far the length of a prototype may be from 1.
UNIT = 1e-3


@dataclass(frozen=True, eq=False)
class Adapter:
    """A compiled correction for one place.

    Attributes
    ----------
    W : (d + 1, d) array
        The affine map on unit embeddings; the last row is the bias.
    prototypes : (C, d) array
        Unit text embeddings of the labels.
    labels : tuple of str
        Names of the classes, in the order of the prototypes.
    encoder, encoder_fingerprint : str
        The encoder whose embeddings it corrects, and the hash of that encoder's exact form.
    prompts, prompts_fingerprint : str
        The prompt set behind the prototypes.
    parameters : dict
        The parameters of the calibration.
    facts : Facts
        What is known of the calibration: place, clips, date, verdict, reasons and so on.
    """

    W: Float
    prototypes: Float
    labels: tuple[str, ...]
    encoder: str = ""
    encoder_fingerprint: str = ""
    prompts: str = ""
    prompts_fingerprint: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(map(str, self.labels)))
        _check(self.W, self.prototypes, self.labels, InputError)

    @classmethod
    def zero_shot(cls, prototypes: Any, labels: Sequence[str] = (), **provenance: Any) -> Adapter:
        """The adapter that changes nothing: plain zero-shot with these prototypes."""
        T = unit_rows(as_rows(prototypes, "prototypes")[0])
        W = identity_map(T.shape[1]).astype(T.dtype)
        return cls(W, T, tuple(labels) or tuple(map(str, range(len(T)))), **provenance)

    @property
    def dim(self) -> int:
        """Width d of the embeddings."""
        return int(self.W.shape[1])

    @overload
    def transform(self, E: AnyTensor) -> AnyTensor: ...
    @overload
    def transform(self, E: ArrayLike) -> Float: ...
    def transform(self, E: Any) -> Any:
        """Corrected unit rows (N, d) for embeddings ``E`` (N, d) of any scale."""
        rows, restore = as_rows(E, "E", self.dim)
        return restore(apply_map(unit_rows(rows), self.W))

    @overload
    def scores(self, E: AnyTensor) -> AnyTensor: ...
    @overload
    def scores(self, E: ArrayLike) -> Float: ...
    def scores(self, E: Any) -> Any:
        """Cosines (N, C) between the corrected embeddings and the prototypes."""
        rows, restore = as_rows(E, "E", self.dim)
        L = apply_map(unit_rows(rows), self.W) @ self.prototypes.T.astype(rows.dtype)
        return restore(np.clip(L, -1, 1, out=L))

    @overload
    def predict(self, E: AnyTensor) -> AnyTensor: ...
    @overload
    def predict(self, E: ArrayLike) -> Labels: ...
    def predict(self, E: Any) -> Any:
        """Class index (N,) of every embedding, by the folded head."""
        rows, restore = as_matrix(E, "E", self.dim)
        A, b = (x.astype(rows.dtype, copy=False) for x in self.head)
        y: Labels = np.empty(len(rows), dtype=np.intp)
        for block in row_blocks(len(rows)):
            X = rows[block]
            norms = row_norms(X)
            if not ((norms > SHORT) & (norms < LONG)).all():
                refuse_non_finite(rows, "E")
                X = unit_rows(X)
                norms = np.ones_like(norms)
            # The bias belongs to unit rows; scaling it spares a normalised copy of the input.
            L = X @ A
            L += norms[:, None] * b
            L.argmax(axis=1, out=y[block])
        return restore(y)

    def predict_one(self, e: Any) -> int:
        """Class index of one embedding (d,): the fast path of a stream."""
        A, b = self.head
        if type(e) is np.ndarray and e.dtype == A.dtype and e.shape == A.shape[:1]:
            norm = math.sqrt(e.dot(e))
            if SHORT < norm < LONG:
                L = e.dot(A)
                L += norm * b
                return int(L.argmax())
        v = np.asarray(to_numpy(e)[0])
        if v.shape != (self.dim,):
            raise InputError(f"wanted one embedding of shape ({self.dim},), got {v.shape}")
        return int(self.predict(v[None])[0])

    def fold(self) -> tuple[Float, Float]:
        """A (d, C) and b (C,): ``argmax(E @ A + b)`` of unit rows E is ``predict(E)``.

        The columns of A with the entries of b are also C new prototypes and biases: any pipeline that
        compares embeddings with text vectors adopts a place by swapping them in.
        """
        A, b = self.head
        return A.copy(), b.copy()

    @cached_property
    def head(self) -> tuple[Float, Float]:
        """A and b of :meth:`fold` without a copy; to be read only."""
        head = self.W.astype(np.float64) @ self.prototypes.T.astype(np.float64)
        head = head.astype(self.W.dtype)
        # By columns, so that one clip meets each class in one run through memory.
        return np.asfortranarray(head[:-1]), head[-1].copy()

    @cached_property
    def zero_shot_head(self) -> Float:
        """The unit prototypes as columns (d, C): unit rows times this are the zero-shot cosines."""
        return unit_rows(self.prototypes).T

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file, whole or not at all."""
        card = {
            "labels": self.labels,
            "encoder": self.encoder,
            "encoder_fingerprint": self.encoder_fingerprint,
            "prompts": self.prompts,
            "prompts_fingerprint": self.prompts_fingerprint,
            "parameters": self.parameters,
            "facts": self.facts.to_dict(),
        }
        tensors = {"W": self.W, "prototypes": self.prototypes}
        if self.facts.surroundings is not None:
            tensors["centres"] = self.facts.surroundings.centres
        payload = payload_of(tensors, card)
        with atomic_write(path) as file:
            file.write(payload)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Adapter:
        """Read and check an adapter; anything wrong is an :class:`AdapterError` that says what."""
        metadata, tensors = read_file(Path(path))
        try:
            fields = read_card(metadata["card"], tensors.get("centres"))
            W, prototypes, labels = tensors["W"], tensors["prototypes"], tuple(fields.pop("labels"))
            _check(W, prototypes, labels, AdapterError)
            if not (np.abs(row_norms(prototypes) - 1) < UNIT).all() or np.abs(W).max() > LONG:
                raise AdapterError("W or the prototypes hold numbers that no calibration gives")
            facts = Facts.from_dict(fields.pop("facts"))
            if facts.classes is not None and not facts.classes.fits(len(labels)):
                raise AdapterError(f"facts.classes does not tell of {len(labels)} classes")
            for name in ("label_thresholds", "label_onsets"):
                if len(getattr(facts, name)) not in (0, len(labels)):
                    raise AdapterError(f"facts.{name} does not tell of {len(labels)} classes")
            if facts.surroundings is not None and not facts.surroundings.fits(*prototypes.shape):
                raise AdapterError("facts.surroundings does not fit the classes")
            return cls(W, prototypes, labels, **fields, facts=facts)
        except (KeyError, TypeError, ValueError, OverflowError, AdapterError) as error:
            missing = "lacks " if isinstance(error, KeyError) else ""
            raise AdapterError(
                f"{path} is damaged: {missing}{error}; calibrate the place again"
            ) from None

    def card(self) -> list[tuple[str, str]]:
        """What the adapter is, where it comes from, what it is worth: names and values."""
        facts = self.facts
        C, d = self.prototypes.shape
        lines = [
            ("place", facts.place),
            ("verdict", facts.verdict),
            ("because", "; ".join(facts.reasons)),
            ("calibrated on", "" if facts.N is None else counted(facts.N, "clip")),
            ("labels used", counted(facts.labels, "label") if facts.labels else ""),
            ("date", facts.date),
            ("encoder", _named(self.encoder, self.encoder_fingerprint)),
            ("prompts", _named(self.prompts, self.prompts_fingerprint)),
            ("classes", ", ".join(self.labels[:8]) + (f", ... ({C} in all)" if C > 8 else "")),
            ("background", ", ".join(self.labels[C - (facts.background or 0) :])),
            ("size", f"W {d + 1} x {d}, head {d + 1} x {C}"),
            ("parameters", ", ".join(f"{k}={_short(v)}" for k, v in self.parameters.items())),
        ]
        return [(name, value) for name, value in lines if value]

    def __str__(self) -> str:
        return card.text(self.card())

    def __repr__(self) -> str:
        C, d = self.prototypes.shape
        return f"Adapter(C={C}, d={d}, encoder={self.encoder!r}, place={self.facts.place!r})"

    def _repr_html_(self) -> str:
        return card.html("PRISM adapter", self.card())

    def markdown(self) -> str:
        """The card of this adapter as a Markdown page."""
        return card.markdown(self.card())


def _named(name: str, fingerprint: str) -> str:
    return f"{name} ({fingerprint[:12]})" if name and fingerprint else name or fingerprint[:12]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _check(
    W: Float, T: Float, labels: tuple[str, ...], error: type[InputError] | type[AdapterError]
) -> None:
    """Refuse parts that do not fit together or hold numbers that are none."""
    for name, array in (("W", W), ("prototypes", T)):
        if array.ndim != 2 or array.dtype not in (np.float32, np.float64):
            raise error(f"{name} is {array.dtype} of shape {array.shape}; wanted a float matrix")
        if not np.isfinite(array).all():
            raise error(f"{name} contains NaN or infinity")
    d = W.shape[1]
    if W.shape[0] != d + 1 or T.shape[1] != d:
        raise error(f"W {W.shape} and prototypes {T.shape} do not fit; wanted (d+1, d) and (C, d)")
    if len(labels) != len(T):
        raise error(f"{len(labels)} labels for {len(T)} prototypes")

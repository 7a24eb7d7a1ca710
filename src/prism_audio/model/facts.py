"""Facts about a calibration: typed, checked when they are read from an adapter's file.

What a newer version wrote and this one does not know is kept in ``extra`` and written again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from prism_audio.errors import AdapterError
from prism_audio.io.types import Float16

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class ClassEvidence:
    """What a calibration saw of each class, in the order of the labels; empty where it is not known."""

    # Clips that zero-shot gave the class, and that the adapter gives it.
    clips_before: tuple[int, ...] = ()
    clips_after: tuple[int, ...] = ()
    # Mean cosine of these; None where there is no clip.
    confidence_before: tuple[float | None, ...] = ()
    confidence_after: tuple[float | None, ...] = ()
    # Fraction of the spread of the class that the deflation takes away.
    removed: tuple[float | None, ...] = ()
    rank: tuple[int, ...] = ()  # directions that the class takes up
    # Whether rank + K > d, and whether the class is a victim of the Polyphonic Trap
    # (:mod:`prism_audio.geometry.overlap`).
    rank_rule: tuple[bool, ...] = ()
    trapped: tuple[bool, ...] = ()
    extra: Json = field(default_factory=dict)

    def fits(self, C: int) -> bool:
        """Whether every column tells of ``C`` classes, or of none."""
        return all(len(values) in (0, C) for name, values in vars(self).items() if name != "extra")

    def of_class(self, c: int) -> Json:
        """What is known of class ``c``, by name."""
        columns = {name: values for name, values in vars(self).items() if name != "extra"}
        return {name: values[c] for name, values in columns.items() if values}


@dataclass(frozen=True)
class Surroundings:
    """How the embeddings of a calibration lay, by which drift is noticed."""

    spread: float  # root mean square distance of a row from the centre of its class
    classes: tuple[int, ...]  # the classes that have a centre of their own
    # (1 + classes, d): the mean of all rows, and these centres; a tensor of its own in a file.
    centres: Float16 = field(compare=False, repr=False)
    extra: Json = field(default_factory=dict)

    def fits(self, C: int, d: int) -> bool:
        """Whether these are centres of some of ``C`` classes in ``d`` dimensions."""
        return (
            self.centres.dtype == np.float16
            and self.centres.shape == (1 + len(self.classes), d)
            and max(self.classes, default=0) < C
            and bool((np.abs(self.centres) <= 1.01).all())  # means of unit rows; false for NaN
        )


@dataclass(frozen=True)
class Facts:
    """What is known of a calibration. None or empty: not known."""

    place: str = ""
    # Clips, width of the embeddings, classes.
    N: int | None = None
    d: int | None = None
    C: int | None = None
    date: str = ""
    # How much of the correction is used, why, and the numbers behind that.
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    numbers: Json = field(default_factory=dict)
    rounds: tuple[Json, ...] = ()  # what each round of the calibration saw
    # How to read scores (:mod:`prism_audio.geometry.confidence`).
    temperature: float | None = None
    zero_shot_share: float | None = None
    unknown_threshold: float | None = None
    # For every label the least conviction of a clip, and the least strength of an event, that were
    # chosen on recordings with a truth; None or empty: the rule for all labels.
    label_thresholds: tuple[float | None, ...] = ()
    label_onsets: tuple[float | None, ...] = ()
    # What a row stood for (``clip``, ``window``), and its usual length.
    row: str = ""
    seconds: float | None = None
    evidence_rows: int | None = None  # rows behind ``classes``, if not all
    seen: int | None = None  # clips that came, if not all were kept
    # How many of the labels, the last ones, are background words: they compete and are not reported.
    background: int | None = None
    classes: ClassEvidence | None = None  # class by class
    surroundings: Surroundings | None = None  # for drift
    extra: Json = field(default_factory=dict)  # what this version does not know

    @property
    def weight(self) -> float | None:
        """How much of the correction is used, 0 to 1."""
        weight = self.numbers.get("weight")
        return None if weight is None else float(_checked(weight, float, "facts.numbers.weight"))

    @property
    def labels(self) -> int:
        """How many labelled clips the calibration used; 0 where it was blind."""
        used = self.numbers.get("labels") if self.numbers.get("labels_used") else 0
        return int(_checked(used or 0, int, "facts.numbers.labels"))

    @classmethod
    def from_dict(cls, document: Any) -> Facts:
        """Read and check what :meth:`to_dict` gave; wrong types are an :class:`AdapterError`."""
        return _read(cls, document, "facts")

    def to_dict(self) -> Json:
        """For a JSON file: what is known, without the rest."""
        return _written(self)


def _read(cls: type[T], document: Any, what: str) -> T:
    """A record from a JSON object, every field checked against its annotation."""
    if not isinstance(document, dict):
        raise AdapterError(f"{what} is {type(document).__name__}; wanted an object")
    kinds = get_type_hints(cls)
    del kinds["extra"]
    values: Json = {"extra": {k: v for k, v in document.items() if k not in kinds}}
    for name, kind in kinds.items():
        if document.get(name) is not None:
            values[name] = _checked(document[name], kind, f"{what}.{name}")
    try:
        return cls(**values)
    except TypeError as error:
        raise AdapterError(f"{what} is incomplete ({error})") from None


def _written(record: Any) -> Json:
    result: Json = {}
    for entry in fields(record):
        value = getattr(record, entry.name)
        if isinstance(value, np.ndarray) or entry.name == "extra" or value in (entry.default, {}):
            continue
        if isinstance(value, ClassEvidence | Surroundings):
            value = _written(value)
        result[entry.name] = list(value) if isinstance(value, tuple) else value
    extra: Json = record.extra
    return result | extra


# What a value of each kind is called in messages.
_NAMES = {
    str: "text",
    int: "a count",
    float: "a finite number",
    bool: "true or false",
    np.ndarray: "an array",
}


def _checked(value: Any, kind: Any, name: str) -> Any:
    """``value`` as the kind that an annotation names: a list as a tuple, a number as a float."""
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if outer is UnionType:  # with None
        return None if value is None else _checked(value, inner[0], name)
    if is_dataclass(outer):
        return _read(outer, value, name)  # type: ignore[arg-type]
    if outer is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(value, name, "a list")
        return tuple(_checked(item, inner[0], f"{name}[{i}]") for i, item in enumerate(value))
    if not _fits(value, outer):
        raise _wrong(value, name, _NAMES.get(outer, "an object"))
    return float(value) if outer is float else value


def _fits(value: Any, kind: type) -> bool:
    if kind not in (int, float):
        return isinstance(value, kind)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if kind is int:
        return isinstance(value, int) and value >= 0
    return abs(value) <= sys.float_info.max  # false for NaN, too


def _wrong(value: Any, name: str, wanted: str) -> AdapterError:
    return AdapterError(f"{name} is {type(value).__name__} {str(value)[:40]!r}; wanted {wanted}")

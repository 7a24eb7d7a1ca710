"""Text prototypes from labels and prompt templates: read the labels, fill the templates, average.

The vector of a label is the mean of its templates' unit vectors, made unit again. Averaging comes
after normalisation, so that each template counts the same whatever the length of its vector.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np

from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError
from prism_audio.io.types import Float32

SLOT = "{}"
_FORMER_NAME = re.compile(r"^paper(?=(-\d+)?$)")
_COLUMNS = ("label", "labels", "category", "class", "class_name", "display_name", "name")


@dataclass(frozen=True)
class PromptSet:
    """Templates that a label is put into, each with one ``{}``."""

    name: str  # name and version of a shipped set (``sentences-1``), or the path of the user's file
    templates: tuple[str, ...]  # in the order of the file

    def __post_init__(self) -> None:
        if not self.templates:
            raise InputError(f"the prompt set {self.name} has no template; one a line is wanted.")
        for template in self.templates:
            if template.count(SLOT) != 1:
                raise InputError(
                    f"the prompt set {self.name} has the template {template!r}; each needs one "
                    "{}, where the label goes."
                )

    @property
    def fingerprint(self) -> str:
        """A hash of the templates: the same prompts, the same text vectors."""
        return hashlib.sha256("\n".join(self.templates).encode()).hexdigest()

    def fill(self, label: str) -> list[str]:
        """The label in every template."""
        return [template.replace(SLOT, label) for template in self.templates]

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> PromptSet:
        """A shipped set, or the user's own text file: a template a line, ``#`` for remarks.

        Parameters
        ----------
        name_or_path : str or path
            ``plain`` (the label alone), ``sentences`` (twenty templates), either with a version
            (``sentences-1``) or the newest without; or a path. ``sentences`` was called ``paper``
            before, and adapters of that time store ``paper-1``, so the old name is read too.
        """
        shipped = {Path(file.name).stem: file for file in _folder().iterdir()}
        name = _FORMER_NAME.sub("sentences", os.fspath(name_or_path))
        versions = [key for key in shipped if re.fullmatch(re.escape(name) + r"(-\d+)?", key)]
        if versions:
            newest = max(versions, key=lambda key: int(key.rpartition("-")[2]))
            return cls(newest, _templates(shipped[newest].read_text(encoding="utf-8")))
        if Path(name).is_file():
            return cls(name, _templates(_read(Path(name))))
        raise InputError(
            f"there are no prompts {name!r}: neither a file nor one of "
            f"{', '.join(sorted({key.rpartition('-')[0] for key in shipped}))}."
        )


def read_labels(spec: str | os.PathLike[str] | Sequence[str]) -> list[str]:
    """Read labels from a file, a comma list or a sequence, cleaned and without duplicates.

    Parameters
    ----------
    spec : str, path or sequence of str
        The path of a text file (a label a line, ``#`` for remarks) or of a CSV file (its column
        ``label``, ``category``, ``class`` or ``name``, or its only column); a comma list, with
        quotes round a label that has a comma in it; or the labels themselves.

    Raises
    ------
    InputError
        When there is no label, when two are the same, or when the file cannot be read.
    """
    if not isinstance(spec, str | os.PathLike):
        return _distinct(spec, "the list of labels")
    text = os.fspath(spec)
    path = Path(text)
    suffix = path.suffix.lower()
    if not isinstance(spec, str) or suffix in (".csv", ".txt") or _is_file(path):
        lines = _read(path).splitlines()
        raw = _column(lines, text) if suffix == ".csv" else _lines(lines)
        return _distinct(raw, text)
    try:
        listed = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise InputError(f"the list of labels cannot be read ({error}).") from None
    return _distinct(listed, "the list of labels")


def clean_label(label: str) -> str:
    """A label as a person would say it: ``dog_bark`` becomes ``dog bark``."""
    return " ".join(unicodedata.normalize("NFC", label).replace("_", " ").split())


def prototypes(encoder: Encoder, labels: Sequence[str], prompt_set: PromptSet) -> Float32:
    """Unit rows (C, d), one a label: the normalised mean of the unit vectors of its prompts."""
    texts = [text for label in labels for text in prompt_set.fill(label)]
    rows = np.asarray(encoder.embed_text(texts), dtype=np.float64)
    mean = rows.reshape(len(labels), len(prompt_set.templates), -1).mean(axis=1)
    unit: Float32 = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _distinct(raw: Iterable[str], origin: str) -> list[str]:
    labels: list[str] = []
    seen: dict[str, str] = {}
    for given in raw:
        if not isinstance(given, str):
            raise InputError(f"{origin} holds {given!r}; a label is a text.")
        if not (label := clean_label(given)):
            continue
        if (twin := seen.get(label.casefold())) is not None:
            raise InputError(
                f"{origin} has the label {label!r} twice ({twin!r} and {given!r}); "
                "two classes cannot share a text. Remove one or word them differently."
            )
        seen[label.casefold()] = given
        labels.append(label)
    if not labels:
        raise InputError(f"{origin} holds no label; give at least one.")
    return labels


def _column(lines: list[str], origin: str) -> list[str]:
    try:
        rows = [row for row in csv.reader(lines, skipinitialspace=True) if any(row)]
    except csv.Error as error:
        raise InputError(f"{origin} cannot be read as a table ({error}).") from None
    if not rows:
        return []
    header = [cell.strip().lower() for cell in rows[0]]
    for name in _COLUMNS:
        if name in header:
            at = header.index(name)
            return [row[at] for row in rows[1:] if at < len(row)]
    if all(len(row) == 1 for row in rows):
        return [row[0] for row in rows]
    raise InputError(
        f"{origin} has the columns {', '.join(rows[0])}; name the one with the labels 'label'."
    )


def _lines(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _templates(text: str) -> tuple[str, ...]:
    return tuple(_lines(text.splitlines()))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a comma list can be longer than any file name may be
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error}). Check the name; labels can also "
            "be given as a comma list."
        ) from error


def _folder() -> Traversable:
    return files("prism_audio.encoders") / "prompt_sets"

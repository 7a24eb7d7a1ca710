"""A sheet of labels: a CSV file that says what a person heard in which recording.

    file,start,end,label
    gate/0012.wav,,,dog bark
    gate/0013.wav,4.8,5.76,siren
    gate/0014.wav,,,

``start`` and ``end`` are seconds and may be empty or absent: then the label is that of the whole
recording. An empty label says that nobody has listened yet, the label ``other`` that it is none of
the classes. ``probability`` is that with which ``prism pick`` chose the clip. Other columns are left
alone. An export of Label Studio (.json) of the tasks that ``prism pick`` wrote is read alike.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_audio.encoders.prompts import clean_label
from prism_audio.errors import InputError
from prism_audio.io.table_files import plain_cell
from prism_audio.labelling.formats.base import in_order, read_seconds
from prism_audio.labelling.formats.label_studio import read_export
from prism_audio.model.truth import UNLABELLED

# What a person writes of a clip that is none of the classes.
OTHER = "other"
# A label counts for a row of which it covers at least this part. Neighbouring windows share half of
# their sound, so that a label for one is not yet one for the next.
COVERED = 0.75


class SheetRow(NamedTuple):
    """What was heard in a recording, or from ``start`` to ``end`` of it; label "" is not listened to.

    ``probability`` is that with which the clip was picked, None where that is not known.
    """

    file: str
    start: float | None
    end: float | None
    label: str
    probability: float | None = None


def read_sheet(path: str | os.PathLike[str]) -> list[SheetRow]:
    """The rows of a CSV file with the columns file and label, and perhaps the others.

    Raises
    ------
    InputError
        If it cannot be read, lacks a column, or a line has no file or no proper times.
    """
    if Path(path).suffix.lower() == ".json":
        records = read_export(path)
        return [_row(record, path, task) for task, record in enumerate(records, start=1)]
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            # Spreadsheets of some languages write semicolons.
            separator = ";" if header.count(";") > header.count(",") else ","
            reader = csv.DictReader(file, delimiter=separator, skipinitialspace=True)
            columns = [str(name).strip().lower() for name in reader.fieldnames or ()]
            reader.fieldnames = columns
            lines = [
                (reader.line_num, {name: plain_cell(cell) for name, cell in record.items()})
                for record in reader
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read as a sheet of labels ({reason})") from None
    for name in ("file", "label"):
        if name not in columns:
            raise InputError(
                f"{path}: the column {name!r} is missing; a sheet has the columns file, label "
                "and, where a label is for a part of a recording, start and end"
            )
    return [_row(record, path, line) for line, record in lines]


def classes_of_rows(
    sheet: Sequence[SheetRow],
    names: Sequence[str],
    files: Sequence[str],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
) -> NDArray[np.intp]:
    """The class (N,) of each of N rows of embeddings, -1 where the sheet names none.

    Parameters
    ----------
    sheet : sequence of SheetRow
        What was heard.
    names : sequence of str
        Names of the classes, in order.
    files, start, end : sequence of str, (N,) arrays
        Where the rows lie; NaN where that is not known.

    Raises
    ------
    InputError
        If a label is not one of the classes, a recording is not one of the files, or two lines say
        different things of the same row.
    """
    labels = sheet_classes(sheet, names)
    members: dict[str, list[int]] = {}
    for index, name in enumerate(files):
        members.setdefault(name, []).append(index)
    by_name: dict[str, list[str]] = {}
    for name in members:
        by_name.setdefault(Path(name).name, []).append(name)
    y = np.full(len(files), UNLABELLED, dtype=np.intp)
    for line, label in zip(sheet, labels, strict=True):
        if label == UNLABELLED:
            continue
        rows = np.array(_members(line.file, members, by_name), dtype=np.intp)
        rows = rows[_covered(line, start[rows], end[rows])]
        other = rows[(y[rows] != UNLABELLED) & (y[rows] != label)]
        if len(other):
            raise InputError(
                f"{line.file} is labelled {line.label!r} and {names[y[other[0]]]!r} in the sheet; "
                "keep one of the two lines"
            )
        y[rows] = label
    if not (y != UNLABELLED).any() and any(label != UNLABELLED for label in labels):
        raise InputError(
            f"no label of the sheet covers a row (the first is for {sheet[0].file}); a label counts "
            f"for a row of which it covers {COVERED:.0%}. Leave start and end empty where it is for "
            "the whole recording"
        )
    return y


def sheet_classes(sheet: Sequence[SheetRow], names: Sequence[str]) -> list[int]:
    """The class of every line of a sheet, -1 where it names none; refuses labels that are no class."""
    classes = {clean_label(name): index for index, name in enumerate(names)}
    return [
        UNLABELLED
        if not line.label or (line.label == OTHER and OTHER not in classes)
        else class_of(line.label, classes)
        for line in sheet
    ]


def class_of(label: str, classes: dict[str, int]) -> int:
    """The index of a label among classes by their cleaned names."""
    index = classes.get(clean_label(label))
    if index is None:
        raise InputError(
            f"the sheet says {label!r}, which is not one of the labels "
            f"({', '.join(list(classes)[:8])}{', ...' if len(classes) > 8 else ''}); correct the "
            f"sheet, add the label to --labels, or write {OTHER!r} where it is none of them"
        )
    return index


def _row(record: Mapping[str, str | None], path: str | os.PathLike[str], line: int) -> SheetRow:
    cells = {name: (record.get(name) or "").strip() for name in SheetRow._fields}
    if not cells["file"]:
        raise InputError(f"{path}, line {line}: the cell 'file' is empty; name the recording")
    start, end, probability = (
        read_seconds(cells[name], str(path), line) if cells[name] else None
        for name in ("start", "end", "probability")
    )
    if start is not None and end is not None:
        in_order(start, end, str(path), line)
    if probability is not None and not 0 < probability <= 1:
        raise InputError(f"{path}, line {line}: {probability} is no probability; pick again")
    return SheetRow(cells["file"], start, end, cells["label"], probability)


def _members(name: str, members: dict[str, list[int]], by_name: dict[str, list[str]]) -> list[int]:
    """The rows of a recording, by its path as it stands or else by its name alone."""
    if name in members:
        return members[name]
    same = by_name.get(Path(name).name, [])
    if len(same) == 1:
        return members[same[0]]
    if same:
        raise InputError(
            f"the sheet names {name}, and there are {len(same)} recordings of that name "
            f"({same[0]}, {same[1]}); write its path as it is shown here"
        )
    raise InputError(
        f"the sheet names {name}, which is not among the recordings (for example "
        f"{next(iter(members), 'none at all')}); correct the name or remove the line"
    )


def _covered(
    line: SheetRow, start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which of the rows from ``start`` to ``end`` a line of the sheet covers."""
    if line.start is None and line.end is None:
        return np.ones(len(start), dtype=bool)
    first, last = line.start or 0.0, np.inf if line.end is None else line.end
    both = np.minimum(end, last) - np.maximum(start, first)
    return np.asarray(both >= COVERED * (end - start))

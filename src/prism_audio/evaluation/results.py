"""Read what ``prism classify`` wrote, and the truth to hold it against."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prism_audio.encoders.prompts import clean_label
from prism_audio.errors import InputError, PrismError
from prism_audio.evaluation.clip_scores import Clips
from prism_audio.evaluation.label_thresholds import Judged
from prism_audio.io.table_files import plain_cell
from prism_audio.labelling.formats.base import TimedLabel

FILE_COLUMNS = ("file", "filename", "path", "name")
LABEL_COLUMNS = ("label", "category", "class", "truth")
Record = Mapping[str, Any]


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """The rows of a ``.csv``, ``.json`` or ``.parquet`` table."""
    target = Path(path)
    try:
        if target.suffix == ".csv":
            with target.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.DictReader(file)
                return [{name: plain_cell(cell) for name, cell in row.items()} for row in rows]
        if target.suffix == ".json":
            document = json.loads(target.read_text(encoding="utf-8"))
            return list(document["rows"] if isinstance(document, dict) else document)
        if target.suffix == ".parquet":
            from pyarrow import parquet

            records: list[Record] = parquet.read_table(target).to_pylist()
            return records
    except ImportError:
        raise PrismError(
            f"{path}: Parquet needs pyarrow (pip install 'prism-audio[bench]')"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a table ({error})") from None
    raise InputError(f"{path}: results are a .csv, .json or .parquet file of 'prism classify'")


def are_events(records: list[Record]) -> bool:
    """Whether rows are events rather than clips."""
    return bool(records) and "zero_shot" not in records[0] and "start" in records[0]


def as_events(records: list[Record], path: str | os.PathLike[str]) -> list[TimedLabel]:
    """Rows of an events table, each named by the stem of its recording."""
    try:
        return [
            TimedLabel(
                Path(row["file"]).stem, float(row["start"]), float(row["end"]), str(row["label"])
            )
            for row in records
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is no table of events ({error})") from None


def read_truth(path: str | os.PathLike[str]) -> dict[str, str]:
    """True labels of clips by the name of the recording, without folder and suffix.

    A table with a column for the file and one for the label, or a folder with a sub-folder a class.
    """
    target = Path(path)
    if target.is_dir():
        from prism_audio.datasets.folder import class_folders

        folders = class_folders(target)
        return {
            Path(file).stem: clean_label(folders.classes[label])
            for file, label in zip(folders.files, folders.labels, strict=True)
        }
    records = read_records(target)
    columns = records[0].keys() if records else ()
    file = next((name for name in FILE_COLUMNS if name in columns), None)
    label = next((name for name in LABEL_COLUMNS if name in columns), None)
    if file is None or label is None:
        raise InputError(
            f"{path}: wanted a column for the recording ({', '.join(FILE_COLUMNS)}) and one for its "
            f"label ({', '.join(LABEL_COLUMNS)})"
        )
    return {
        Path(str(row[file])).stem: clean_label(str(row[label])) for row in records if row[label]
    }


def pair_clips(records: list[Record], truth: Mapping[str, str], column: str) -> Clips:
    """Clips that have a truth, with the answers of one column."""
    stems = [Path(str(row["file"])).stem for row in records]
    known = [(stem, row) for stem, row in zip(stems, records, strict=True) if stem in truth]
    if not known:
        raise InputError(
            "no recording of the results has a true label; names are compared without folder and "
            f"suffix, for example {stems[0] if stems else '-'!r} and {next(iter(truth), '-')!r}"
        )
    answers = [clean_label(str(row[column])) for _, row in known]
    return Clips([truth[stem] for stem, _ in known], answers, [stem for stem, _ in known])


def judge_clips(records: list[Record], truth: Mapping[str, str]) -> list[Judged]:
    """The best class of every clip that has a truth, by how far it convinces."""
    try:
        return [
            Judged(best, float(row["conviction"]), best == truth[stem])
            for row in records
            if (stem := Path(str(row["file"])).stem) in truth
            for best in [clean_label(str(row["best"]))]
        ]
    except (KeyError, TypeError, ValueError):
        raise _no_values("best and conviction") from None


def with_strengths(
    records: list[Record], events: list[TimedLabel]
) -> list[tuple[TimedLabel, float]]:
    """Events of a table with the strength of each."""
    try:
        return [(e, float(row["strength"])) for row, e in zip(records, events, strict=True)]
    except (KeyError, TypeError, ValueError):
        raise _no_values("strength") from None


def _no_values(columns: str) -> InputError:
    return InputError(
        f"the results have no {columns}, by which thresholds are chosen; write them again with "
        "'prism classify' (events need a minute of sound)"
    )

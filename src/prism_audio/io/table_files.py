"""Write tables as CSV, JSON or Parquet, by the suffix of the file."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from prism_audio.errors import InputError, PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.io.runtime import import_extra

SUFFIXES = (".csv", ".json", ".parquet")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_output(path: str | os.PathLike[str], suffixes: Sequence[str] = ()) -> Path:
    """The path, after a check that a file can be written there: before hours of work, not after.

    Raises
    ------
    InputError, PrismError
        If its suffix is none of ``suffixes``, its folder is missing or cannot be written to, or
        something other than a file has its name.
    """
    target = Path(path)
    if suffixes and target.suffix.lower() not in suffixes:
        raise InputError(f"{target}: the name must end in {', '.join(suffixes)}")
    if target.exists() and not target.is_file():
        raise PrismError(f"cannot write {target}: it is a folder or a device; name a file")
    if not target.parent.is_dir():
        raise PrismError(
            f"cannot write {target}: there is no folder {target.parent}; make it first"
        )
    try:  # permissions do not show whether the disk is read-only
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise PrismError(
            f"cannot write {target}: {error.strerror or error}; choose another place"
        ) from None
    if target.suffix.lower() == ".parquet":
        _pyarrow(target)
    return target


def write_table(
    path: str | os.PathLike[str], columns: Sequence[str], rows: Sequence[dict[str, Any]]
) -> None:
    """Write rows with these columns to a ``.csv``, ``.json`` or ``.parquet`` file.

    A value that is not there (None) is an empty cell in CSV, ``null`` elsewhere.
    """
    target = check_output(path, SUFFIXES)
    suffix = target.suffix.lower()
    with atomic_write(target) as file:
        if suffix == ".csv":
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            writer = csv.DictWriter(text, columns)
            writer.writeheader()
            writer.writerows({name: _cell(name, row[name]) for name in columns} for row in rows)
            text.detach()
        elif suffix == ".json":
            file.write(json.dumps(list(rows), indent=1, ensure_ascii=False).encode())
        else:
            table = _pyarrow(target).table({name: [row[name] for row in rows] for name in columns})
            import_module("pyarrow.parquet").write_table(table, file)


def _cell(column: str, value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; a file's name still names the file."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    return f"./{value}" if column == "file" else f"'{value}"


def plain_cell(value: Any) -> Any:
    """A cell of a CSV file as it was before :func:`write_table` guarded it."""
    guarded = isinstance(value, str) and value[:1] == "'" and value[1:].startswith(_FORMULA)
    return value[1:] if guarded else value


def _pyarrow(target: Path) -> Any:
    return import_extra(
        "pyarrow",
        f"{target}: Parquet needs pyarrow (pip install 'prism-audio[bench]'); or write .csv or .json",
    )

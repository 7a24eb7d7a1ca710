"""Sheets of labels: reading them, and finding the rows that they speak of."""

import numpy as np
import pytest

from prism_audio.errors import InputError
from prism_audio.labelling.sheet import SheetRow, classes_of_rows, read_sheet

NAMES = ("dog bark", "siren")


def sheet(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "sheet.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_reads_lines_with_and_without_times(tmp_path):
    rows = read_sheet(
        sheet(tmp_path, "file,start,end,label,by\na.wav,,,dog bark,me\nb.wav,4.8,5.76,,\n")
    )
    assert rows == [SheetRow("a.wav", None, None, "dog bark"), SheetRow("b.wav", 4.8, 5.76, "")]


def test_reads_what_a_spreadsheet_of_another_language_writes(tmp_path):
    text = "File;Label;Start;End\n a, b.wav ;siren;0,5;1,5\n"
    rows = read_sheet(sheet(tmp_path, text, "utf-8-sig"))
    assert rows == [SheetRow("a, b.wav", 0.5, 1.5, "siren")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,label\na.wav,dog bark\n", "column 'file' is missing"),
        ("file,start\na.wav,1\n", "column 'label' is missing"),
        ("file,label\na.wav,siren\n,dog bark\n", "line 3: the cell 'file' is empty"),
        ("file,start,end,label\na.wav,x,2,siren\n", "line 2: 'x' is not a time"),
        ("file,start,end,label\na.wav,3,2,siren\n", "line 2: 3.0 to 2.0 s"),
        ("", "column 'file' is missing"),
    ],
)
def test_refuses_what_is_no_sheet(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_sheet(sheet(tmp_path, text))


def test_refuses_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="cannot be read as a sheet"):
        read_sheet(path)
    with pytest.raises(InputError, match="No such file"):
        read_sheet(tmp_path / "absent.csv")


def rows_of(*lines, files=("in/a.wav", "in/b.wav"), start=None, end=None):
    known = np.zeros(len(files)), np.full(len(files), 5.0)
    start, end = (
        k if g is None else np.array(g, float) for k, g in zip(known, (start, end), strict=True)
    )
    return classes_of_rows([SheetRow(*line) for line in lines], NAMES, files, start, end).tolist()


def test_finds_recordings_by_path_or_by_name():
    assert rows_of(("in/b.wav", None, None, "siren"), ("a.wav", None, None, "dog_bark")) == [0, 1]
    assert rows_of(("in/b.wav", None, None, ""), ("a.wav", None, None, "other")) == [-1, -1]


def test_a_stretch_labels_the_windows_that_it_covers_and_not_their_neighbours():
    windows = {"files": ["a.wav"] * 4, "start": [0, 0.48, 0.96, 1.44], "end": [0.96, 1.44, 1.92, 2]}
    assert rows_of(("a.wav", 0.48, 1.44, "siren"), **windows) == [-1, 1, -1, -1]
    assert rows_of(("a.wav", 0.48, None, "siren"), **windows) == [-1, 1, 1, 1]
    assert rows_of(("a.wav", None, None, "siren"), **windows) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("lines", "files", "message"),
    [
        ([("a.wav", None, None, "cat")], ("a.wav",), "'cat', which is not one of the labels"),
        ([("c.wav", None, None, "siren")], ("a.wav",), "not among the recordings"),
        ([("a.wav", None, None, "siren")], ("x/a.wav", "y/a.wav"), "2 recordings of that name"),
        (
            [("a.wav", None, None, "siren"), ("a.wav", None, None, "dog bark")],
            ("a.wav",),
            "labelled 'dog bark' and 'siren'",
        ),
    ],
)
def test_refuses_labels_that_fit_nothing(lines, files, message):
    with pytest.raises(InputError, match=message):
        rows_of(*lines, files=files)

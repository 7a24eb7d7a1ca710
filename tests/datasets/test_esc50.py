from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from prism_audio.datasets.esc50 import load_esc50
from prism_audio.errors import InputError
from tests.helpers.tiny_datasets import recording

ROWS = [
    ("1-100-A-1.wav", 1, 1, "rooster", False, 100, "A"),
    ("1-100-B-1.wav", 1, 1, "rooster", False, 100, "B"),
    ("2-200-A-0.wav", 2, 0, "dog", True, 200, "A"),
]


def published(folder: Path, table: str = "meta/esc50.csv", suffix: str = ".wav") -> Path:
    path = folder / table
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("filename", "fold", "target", "category", "esc10", "src_file", "take"))
        writer.writerows(ROWS)
    for row in ROWS:
        recording(folder / "audio" / Path(str(row[0])).with_suffix(suffix), 0.2)
    return folder


@pytest.mark.parametrize("table", ["meta/esc50.csv", "esc50.csv"])
@pytest.mark.parametrize("suffix", [".wav", ".flac"])
def test_published_layout(tmp_path: Path, table: str, suffix: str) -> None:
    found = load_esc50(published(tmp_path, table, suffix))
    assert [file.name for file in found.files] == [str(r[0])[:-4] + suffix for r in ROWS]
    assert all(file.is_file() for file in found.files)
    assert found.classes == ["dog", "rooster"]
    assert found.labels == [1, 1, 0]
    assert found.folds == [1, 1, 2]
    assert found.sources == ["100", "100", "200"]


def test_the_suffix_of_the_table_comes_first(tmp_path: Path) -> None:
    published(tmp_path, suffix=".flac")
    published(tmp_path)
    assert {file.suffix for file in load_esc50(tmp_path).files} == {".wav"}


def test_missing_clips_are_counted_and_named(tmp_path: Path) -> None:
    published(tmp_path)
    (tmp_path / "audio" / "1-100-B-1.wav").unlink()
    with pytest.raises(
        InputError, match=r"1 of 3 clips are missing \(audio/1-100-B-1.wav\)"
    ) as told:
        load_esc50(tmp_path)
    assert "karolpiczak/ESC-50" in str(told.value)
    assert "10.7910/DVN/YDEPUT" in str(told.value)


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no meta/esc50.csv or esc50.csv.*beside audio/"):
        load_esc50(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("category", "kind", "no column 'category'"),
        ("1-100-B-1.wav,1,1", "1-100-B-1.wav,1,one", "'one' in the column 'target'"),
        ("rooster,False,100,B", "hen,False,100,B", "class 1 is called 'rooster' and 'hen'"),
        ("2-200-A-0.wav,2,0", "2-200-A-0.wav,2,7", "not from 0 on"),
    ],
)
def test_a_damaged_table(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = published(tmp_path) / "meta" / "esc50.csv"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=reason):
        load_esc50(tmp_path)


def test_an_empty_or_binary_table(tmp_path: Path) -> None:
    path = published(tmp_path) / "meta" / "esc50.csv"
    header = path.read_text().splitlines()[0]
    path.write_text(header + "\n")
    with pytest.raises(InputError, match="names no clip"):
        load_esc50(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as a table"):
        load_esc50(tmp_path)


@pytest.mark.shared
def test_the_real_one() -> None:
    shared = Path(os.environ.get("PRISM_SHARED", Path(__file__).parents[3] / "shared"))
    folder = shared / "data" / "esc50"
    if not folder.is_dir():
        pytest.skip("no recordings beside the project")
    found = load_esc50(folder)
    assert len(found) == 2000
    assert [found.labels.count(c) for c in range(50)] == [40] * 50
    assert [found.folds.count(fold) for fold in range(1, 6)] == [400] * 5
    assert len(found.sources) == len(found.files)
    # Clips of one source share a fold, but for a handful that the dataset has in two.
    pairs = set(zip(found.sources, found.folds, strict=True))
    assert len(pairs) - len(set(found.sources)) < 10

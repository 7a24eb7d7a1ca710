from __future__ import annotations

from pathlib import Path

import pytest

from prism_audio.datasets.us8k import load_us8k
from prism_audio.errors import InputError
from tests.helpers.tiny_datasets import recording

TABLE = """slice_file_name,fsID,start,end,salience,fold,classID,class
100032-3-0-0.wav,100032,0.0,0.317551,1,5,1,dog_bark
100263-2-0-117.wav,100263,58.5,62.5,1,10,0,children_playing
100032-3-0-1.wav,100032,1.0,1.3,1,5,1,dog_bark
"""


def published(folder: Path) -> Path:
    (folder / "metadata").mkdir()
    (folder / "metadata" / "UrbanSound8K.csv").write_text(TABLE)
    for place in ("fold5/100032-3-0-0", "fold10/100263-2-0-117", "fold5/100032-3-0-1"):
        recording(folder / "audio" / f"{place}.wav", 0.2)
    return folder


def test_published_layout(tmp_path: Path) -> None:
    found = load_us8k(published(tmp_path))
    assert [file.relative_to(tmp_path).as_posix() for file in found.files] == [
        "audio/fold5/100032-3-0-0.wav",
        "audio/fold10/100263-2-0-117.wav",
        "audio/fold5/100032-3-0-1.wav",
    ]
    assert found.classes == ["children_playing", "dog_bark"]
    assert (found.labels, found.folds) == ([1, 0, 1], [5, 10, 5])
    assert found.sources == ["100032", "100263", "100032"]


def test_a_clip_in_the_wrong_fold_is_missing(tmp_path: Path) -> None:
    published(tmp_path)
    clip = tmp_path / "audio" / "fold10" / "100263-2-0-117.wav"
    clip.rename(tmp_path / "audio" / "fold5" / clip.name)
    with pytest.raises(InputError, match=r"1 of 3 clips are missing \(audio/fold10/") as told:
        load_us8k(tmp_path)
    assert "10.5281/zenodo.1203745" in str(told.value)


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no metadata/UrbanSound8K.csv"):
        load_us8k(tmp_path)

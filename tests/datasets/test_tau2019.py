from __future__ import annotations

from pathlib import Path

import pytest

from prism_audio.datasets.tau2019 import load_tau2019, tau_backgrounds
from prism_audio.errors import InputError
from tests.helpers.tiny_datasets import recording

CLIPS = [
    ("audio/park-lyon-1-1-a.wav", "park", "lyon-1", "a"),
    ("audio/park-lyon-1-1-b.wav", "park", "lyon-1", "b"),
    ("audio/airport-paris-2-5-a.wav", "airport", "paris-2", "a"),
    ("audio/bus-vienna-3-7-c.wav", "bus", "vienna-3", "c"),
]


def published(folder: Path) -> Path:
    lines = ["filename\tscene_label\tidentifier\tsource_label"]
    lines += ["\t".join(clip) for clip in CLIPS]
    (folder / "meta.csv").write_text("\n".join(lines) + "\n")
    (folder / "evaluation_setup").mkdir()
    (folder / "evaluation_setup" / "fold1_test.csv").write_text(f"filename\n{CLIPS[2][0]}\n")
    for name, *_ in CLIPS:
        recording(folder / name, 0.2)
    return folder


def test_published_layout(tmp_path: Path) -> None:
    found = load_tau2019(published(tmp_path))
    assert [file.relative_to(tmp_path).as_posix() for file in found.files] == [c[0] for c in CLIPS]
    assert found.classes == ["airport", "bus", "park"]
    assert found.labels == [2, 2, 0, 1]
    assert found.folds == [1, 1, 2, 1]
    assert found.groups == ["a", "b", "a", "c"]
    assert found.sources == ["lyon-1", "lyon-1", "paris-2", "vienna-3"]


def test_backgrounds_are_of_one_device(tmp_path: Path) -> None:
    found = tau_backgrounds(published(tmp_path))
    assert {name: len(files) for name, files in found.items()} == {"airport": 1, "park": 1}


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    published(tmp_path)
    setup = tmp_path / "evaluation_setup" / "fold1_test.csv"
    setup.write_text("filename\naudio/elsewhere.wav\n")
    with pytest.raises(InputError, match=r"audio/elsewhere.wav, which meta.csv does not"):
        load_tau2019(tmp_path)
    setup.unlink()
    with pytest.raises(InputError, match=r"evaluation_setup/fold1_test\.csv") as told:
        load_tau2019(tmp_path)
    assert "10.5281/zenodo.2589332" in str(told.value)

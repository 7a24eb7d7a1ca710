from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from prism_audio import Adapter
from tests.cli.conftest import Prism, left_over


def test_every_form(prism: Prism, site: Path, tmp_path: Path) -> None:
    names = ["head.json", "head.npz", "head.h", "modules"]
    for name in names:
        done = prism("export", site, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert f"wrote {tmp_path / name}" in done.stdout
        assert "16 numbers in, 3 classes out" in done.stdout
    assert left_over(tmp_path) == sorted(names)
    A, b = Adapter.load(site).fold()
    told = json.loads((tmp_path / "head.json").read_text())
    np.testing.assert_array_equal(np.array(told["prototypes"], np.float32), A.T)
    np.testing.assert_array_equal(np.array(told["biases"], np.float32), b)
    assert left_over(tmp_path / "modules") == [
        *("0_Normalize", "1_Dense", "2_Normalize", "modules.json", "prototypes.safetensors")
    ]


def test_onnx_is_checked_before_it_is_kept(prism: Prism, site: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    done = prism("export", site, "-o", tmp_path / "head.onnx", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["format"], told["classes"], told["dim"]) == ("onnx", 3, 16)
    assert told["largest_difference"] <= 1e-5


def test_name_may_be_anything_with_a_format(prism: Prism, site: Path, tmp_path: Path) -> None:
    assert prism("export", site, "-o", tmp_path / "head.txt", "--format", "c").returncode == 0
    assert "prism_predict" in (tmp_path / "head.txt").read_text()


def test_wrong_usage(refused: Callable[..., str], site: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    for words, arguments in {
        "not clear from its name": (site, "-o", tmp_path / "head.tflite"),
        "--format": (site, "-o", tmp_path / "head.h", "--format", "cobol"),
        "cannot read": (tmp_path / "absent", "-o", tmp_path / "head.h"),
        "it exists": (site, "-o", tmp_path / "full"),
        "no folder": (site, "-o", tmp_path / "absent" / "head.h"),
        "device": (site, "-o", "/dev/null", "--format", "c"),
    }.items():
        assert words in refused("export", *arguments), words
    assert left_over(tmp_path) == ["full"]
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["head.onnx", "head.json", "head.npz", "head.h", "modules"])
def test_full_disk(prism: Prism, site: Path, tmp_path: Path, name: str) -> None:
    if name.endswith("onnx"):
        pytest.importorskip("onnx")
    done = prism.process("export", site, "-o", tmp_path / name, largest=64)
    assert done.returncode == 2
    assert f"cannot write {tmp_path / name}" in done.stderr
    assert left_over(tmp_path) == []

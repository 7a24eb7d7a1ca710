from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prism_audio.io.runtime import usable_cores

# A session of onnxruntime, from its import to an answer; then every socket the process has open.
SESSION = """
import os, sys
import numpy as np, onnx
from onnx import TensorProto, helper
from prism_audio.io.runtime import import_onnxruntime
shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "abs", shape[:1], shape[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
runtime = import_onnxruntime()
session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
assert session.run(["y"], {"x": np.array([-2], np.float32)})[0] == [2]
if sys.platform == "linux":
    links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    assert not [link for link in links if "socket:" in link], links
"""


def test_onnxruntime_leaves_no_file_and_opens_no_socket(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    home = tmp_path / "home"
    home.mkdir()
    places = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "ORT_DISABLE_TELEMETRY")
    env = {key: value for key, value in os.environ.items() if key not in places}
    env |= {"HOME": str(home), "LOCALAPPDATA": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SESSION], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(home.rglob("*"))


def test_onnxruntime_is_imported_in_one_place() -> None:
    source = Path(__file__).parents[2] / "src" / "prism_audio"
    importing = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(
            line.split()[:2] in (["import", "onnxruntime"], ["from", "onnxruntime"])
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert importing == ["io/runtime.py"]


def test_usable_cores_are_those_the_system_allows() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)

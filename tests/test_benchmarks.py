"""Benchmarks that read what others wrote: the authors' script in a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
import torch

def steps(E, T):
    assert E.dtype == T.dtype == torch.float32 and E.shape[1] == T.shape[1]
    return E @ T.T
"""


@pytest.mark.slow
def test_calibration_is_compared_with_a_script_in_a_folder(tmp_path):
    pytest.importorskip("torch", reason="the script is written in PyTorch")
    (tmp_path / "their_code.py").write_text(SCRIPT)
    out = tmp_path / "figures.json"
    command = [
        sys.executable, str(ROOT / "benchmarks" / "calibration.py"), "--speed-only",
        "--script", str(tmp_path), "--entry", "their_code:steps", "--sizes", "60,16,3",
        "--rounds", "1", "--json", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    (figures,) = (value for name, value in json.loads(out.read_text()).items() if name != "growth")
    ratio = figures["script, median"] / figures["default, median"]
    assert figures["script / default"] == pytest.approx(ratio)
    assert figures["script, best"] <= figures["script, median"]

"""Start-up: a run with a saved adapter imports nothing that only calibration or text needs."""

from __future__ import annotations

import json
import subprocess
import sys

# Each takes a tenth of a second or more to import.
SLOW = ["scipy.linalg", "scipy.sparse", "scipy.special", "sklearn", "onnxruntime", "tokenizers"]
REPORT = f"""
import json, sys
from prism_audio.cli import main
try:
    main()
finally:
    print("\\n" + json.dumps([name for name in {SLOW} if name in sys.modules]))
"""


def test_classify_with_an_adapter_imports_little(prism, sounds, site):
    words = ["classify", str(sounds), "--adapter", str(site), "--json"]
    run = subprocess.run(
        [sys.executable, "-c", REPORT, *words],
        capture_output=True,
        text=True,
        env=prism.environment,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == []

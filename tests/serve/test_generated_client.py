"""A client that openapi-python-client writes from the service's own document."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.processes import Served
from tests.helpers.service import clip

pytest.importorskip("openapi_python_client", reason="needs the package openapi-python-client")

GENERATE = (sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none")


def test_a_generated_client_labels_a_file(
    served: Served, client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(client.get("/openapi.json").json()))
    folder = tmp_path / "generated"
    written = subprocess.run(
        [*GENERATE, "--path", str(document), "--output-path", str(folder / "prism_client")],
        capture_output=True,
        text=True,
    )
    assert written.returncode == 0, written.stdout + written.stderr
    assert "Unable to" not in written.stdout, written.stdout
    monkeypatch.syspath_prepend(str(folder))
    made = importlib.import_module("prism_client")
    types = importlib.import_module("prism_client.types")
    bodies = importlib.import_module("prism_client.models")
    classify = importlib.import_module("prism_client.api.recordings.classify")
    recording = tmp_path / "seven.wav"
    recording.write_bytes(clip(7))
    with recording.open("rb") as sound:
        file = types.File(payload=sound, file_name="seven.wav", mime_type="audio/wav")
        answer = classify.sync(
            client=made.Client(base_url=served.url), body=bodies.ClassifyFilesBody(files=[file])
        )
    assert (answer.results[0].file, answer.results[0].label) == ("seven.wav", "tone 7")

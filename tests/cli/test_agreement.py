"""Every way to a label gives the same one: calibration, saved adapter, stream, ONNX, C."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders import embed_timeline
from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS, BandEncoder, tone, write
from tests.helpers.heads import c_predictions, onnx_predictions


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long recordings in which pairs of classes sound at once, at all ratios of loudness."""
    folder = tmp_path_factory.mktemp("street")
    rng = np.random.default_rng(0)
    for number in range(6):
        parts = []
        for _ in range(8):
            first, second = rng.choice([2, 7, 12], 2, replace=False)
            seed = int(rng.integers(1 << 30))
            share = rng.uniform()
            parts.append(
                share * tone(first, 0.7, seed, 0.2) + (1 - share) * tone(second, 0.7, seed + 1, 0.2)
            )
        write(folder / f"{number}.wav", np.concatenate(parts))
    return folder


def test_all_heads_agree(prism: Prism, street: Path, tmp_path: Path) -> None:
    site = tmp_path / "site.safetensors"
    calibrated = prism(
        *("classify", street, "-l", LABELS, "--encoder", "bands", "--timeline", "--json"),
        *("--save-adapter", site, "--preset", "paper"),
    )
    rows = json.loads(calibrated.stdout)["rows"]
    labels = [row["label"] for row in rows]
    assert json.loads(calibrated.stdout)["summary"]["changed"] > 0  # the adapter is not idle
    assert len(set(labels)) == 3

    reused = prism("classify", street, "-a", site, "--timeline", "--json")
    assert [row["label"] for row in json.loads(reused.stdout)["rows"]] == labels

    heard = []
    for file in sorted(street.iterdir()):
        done = prism("listen", file, "-a", site, "--window", 0.5, "--json", "--every")
        told = [json.loads(line) for line in done.stdout.splitlines()]
        heard += [line for line in told if line["type"] == "window"]
    assert [line["label"] for line in heard] == labels
    assert [line["start"] for line in heard] == [row["start"] for row in rows]
    np.testing.assert_allclose(
        [line["score"] for line in heard], [row["score"] for row in rows], atol=2e-6
    )

    encoder = BandEncoder()
    E = np.concatenate(
        [embed_timeline(encoder, path).embeddings for path in sorted(street.iterdir())]
    )
    names = [row["label"] for row in json.loads(prism("inspect", site, "--json").stdout)["classes"]]
    assert prism("export", site, "-o", tmp_path / "site.h").returncode == 0
    assert [names[c] for c in c_predictions(tmp_path / "site.h", E, tmp_path)[0]] == labels
    if find_spec("onnx"):  # an extra
        assert prism("export", site, "-o", tmp_path / "site.onnx").returncode == 0
        assert [names[c] for c in onnx_predictions(tmp_path / "site.onnx", E)] == labels

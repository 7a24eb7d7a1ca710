"""The service with the embedded encoder, where its files are at hand."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.encoders import assets, embed_audio
from prism_audio.encoders.registry import load_encoder
from tests.helpers.service import form, wav


@pytest.fixture(scope="module")
def encoder():
    if not all(assets.find(asset) for asset in assets.ASSETS):
        pytest.skip("the files of the encoder 'concepts' are not in the cache")
    return load_encoder("concepts")


def sounds() -> list[tuple[str, bytes]]:
    rng = np.random.default_rng(0)
    t = np.arange(3 * 16000) / 16000
    kinds = {
        "noise.wav": 0.1 * rng.standard_normal(len(t)),
        "tone.wav": 0.3 * np.sin(2 * np.pi * 440 * t),
        "sweep.wav": 0.3 * np.sin(2 * np.pi * (600 + 300 * np.sin(2 * np.pi * 0.5 * t)) * t),
        "silence.wav": np.zeros(len(t)),
        "short.wav": 0.1 * rng.standard_normal(900),
    }
    return [(name, wav(samples, 16000)) for name, samples in kinds.items()]


def test_together_or_alone_a_recording_is_the_same(serve, encoder, tmp_path):
    client = serve(encoder=encoder, labels="siren, white noise, silence")
    recordings = sounds()
    paths = []
    for name, data in recordings:
        paths.append(tmp_path / name)
        paths[-1].write_bytes(data)
    expected = embed_audio(encoder, paths)
    together = client.post("/v1/embeddings", files=form(*recordings * 3)).json()["results"]
    alone = [
        client.post("/v1/embeddings", files=form(recording)).json()["results"][0]
        for recording in recordings
    ]
    assert together == alone * 3
    rows = np.array([result["embedding"] for result in alone])
    assert np.allclose(rows, expected, atol=1e-6)


def test_labels_make_sense(serve, encoder):
    client = serve(encoder=encoder, labels=None)
    answer = client.post(
        "/v1/classify", params={"labels": "white noise, sine wave"}, files=form(*sounds()[:2])
    )
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [result["label"] for result in results] == ["white noise", "sine wave"]
    assert len(client.get("/v1/sites").json()["sites"][0]["labels"]) == 12

"""What a client is told of its recordings is what the command line says of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from prism_audio.encoders import embed_timeline
from prism_audio.encoders.prompts import PromptSet
from prism_audio.geometry.confidence import probabilities
from prism_audio.labelling.batch import Batch, embed_batch
from prism_audio.labelling.classify import classify
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from tests.helpers.bands import LABELS, RATE, BandEncoder, tone
from tests.helpers.service import calibrate, clip, clips, form, wav

NAMES = LABELS.split(", ")


def words(labels: list[str] = NAMES) -> Vocabulary:
    return Vocabulary.from_text(BandEncoder(), labels, PromptSet.load("sentences"))


@pytest.fixture
def folder(tmp_path):
    for name, data in clips(2):
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_labels_are_those_of_the_command_line(client, folder):
    paths = sorted(folder.glob("*.wav"))
    answer = client.post(
        "/v1/classify", files=form(*((path.name, path.read_bytes()) for path in paths))
    ).json()
    assert (answer["site"], answer["labels"], answer["adapted"]) == ("default", NAMES, False)
    rows = classify(embed_batch(paths, BandEncoder()), words().adapter(), top=3)
    # A row alone and in a batch may differ in the last place of float32, so in the sixth that is shown.
    for result, row, path in zip(answer["results"], rows, paths, strict=True):
        for name in ("label", "zero_shot", "runner_up"):
            assert result[name] == getattr(row, name)
        for name in ("score", "zero_shot_score", "margin"):
            assert result[name] == pytest.approx(getattr(row, name), abs=2e-6)
        assert [entry["label"] for entry in result["top"]] == [label for label, _ in row.top]
        assert (result["file"], result["seconds"], result["unknown"]) == (path.name, 1.2, False)
        assert result["label"] == f"tone {int(path.name[:2])}"


def test_an_adapted_site_answers_by_its_adapter(client):
    calibrate(client, "yard", clips(20), preset="paper")  # which no guard holds back
    adapter_file = client.get("/v1/sites/yard/adapter").content
    answer = client.post(
        "/v1/classify", params={"site": "yard"}, files=form(("a.wav", clip(7, 5)))
    ).json()
    assert answer["adapted"]
    result = answer["results"][0]
    embedding = _embedding(client, clip(7, 5))
    adapter = _load(adapter_file)
    scores = adapter.scores(embedding[None])
    assert result["score"] == pytest.approx(scores.max(), abs=1e-6)
    assert result["label"] == adapter.labels[int(adapter.predict(embedding[None])[0])]
    temperature = adapter.facts.temperature
    assert result["probability"] == pytest.approx(
        probabilities(scores, temperature).max(), abs=1e-4
    )


def test_without_a_calibration_no_probability_is_made_up(client):
    answer = client.post("/v1/classify", files=form(("a.wav", clip(7)))).json()
    assert answer["results"][0]["probability"] is None


def test_raw_samples_are_a_recording(client):
    samples = tone(7, 1.0, 3)
    scaled = np.round(samples * 32767).astype("<i2")
    as_file = client.post("/v1/embeddings", files=form(("a.wav", wav(scaled)))).json()
    for kind, data in (
        ("s16le", scaled.tobytes()),
        ("f32le", (scaled / 32768).astype("<f4").tobytes()),
        ("s32le", (scaled.astype("<i4") << 16).tobytes()),
    ):
        answer = client.post(
            "/v1/embeddings",
            params={"rate": RATE, "format": kind},
            content=data + b"\0",  # a sample that the end cuts in two is dropped
            headers={"Content-Type": "application/octet-stream"},
        )
        assert answer.status_code == 200, answer.text
        got, want = answer.json()["results"][0], as_file["results"][0]
        assert np.allclose(got["embedding"], want["embedding"], atol=1e-6)
        assert got["seconds"] == want["seconds"]


@pytest.mark.parametrize("kind", ["application/octet-stream", "audio/wav", "audio/x-wav"])
def test_a_file_as_the_whole_body_is_known_by_its_first_bytes(client, kind):
    as_form = client.post("/v1/embeddings", files=form(("a.wav", clip(7)))).json()
    answer = client.post("/v1/embeddings", content=clip(7), headers={"Content-Type": kind}).json()
    assert answer["results"][0]["embedding"] == as_form["results"][0]["embedding"]
    flac = wav(tone(7, 1.0, 1), form="FLAC")
    answer = client.post("/v1/classify", content=flac, headers={"Content-Type": kind}).json()
    assert answer["results"][0]["label"] == "tone 7"


def test_channels_of_raw_samples_are_averaged(client):
    left, right = tone(2, 1.0, 1), tone(12, 1.0, 2)
    both = np.stack([left, right], axis=1).astype("<f4")
    mean = both.mean(axis=1)
    header = {"Content-Type": "application/octet-stream"}
    query = {"rate": str(RATE), "format": "f32le"}
    url = "/v1/embeddings"
    stereo = client.post(
        url, params={**query, "channels": "2"}, content=both.tobytes(), headers=header
    )
    mono = client.post(url, params=query, content=mean.tobytes(), headers=header)
    assert np.allclose(
        stereo.json()["results"][0]["embedding"], mono.json()["results"][0]["embedding"], atol=1e-5
    )


def test_a_bad_recording_among_good_ones_costs_only_itself(client):
    files = form(("good.wav", clip(2)), ("../../notes.txt", b"not sound"), ("too.wav", clip(12)))
    answer = client.post("/v1/classify", files=files)
    assert answer.status_code == 200
    first, second, third = answer.json()["results"]
    assert (first["label"], third["label"]) == ("tone 2", "tone 12")
    assert second["file"] == "../../notes.txt"
    assert second["error"]["code"] == "bad_audio"
    assert "notes.txt" not in second["error"]["message"]


def test_all_bad_is_a_refusal_that_names_the_first(client):
    answer = client.post("/v1/classify", files=form(("a.txt", b"x" * 50), ("b.txt", b"y" * 50)))
    assert answer.status_code == 422
    error = answer.json()
    assert (error["code"], error["file"]) == ("bad_audio", "a.txt")
    assert "none of the 2" in error["detail"]


def test_other_labels_keep_the_map(client):
    calibrate(client, "yard", clips(20), preset="paper")  # which no guard holds back
    labels = ["tone 12", "tone 3"]
    answer = client.post(
        "/v1/classify",
        params={"site": "yard", "labels": ", ".join(labels)},
        files=form(("a.wav", clip(12))),
    ).json()
    assert answer["labels"] == labels
    site = _load(client.get("/v1/sites/yard/adapter").content)
    changed = Adapter(site.W, words(labels).prototypes.astype(site.W.dtype), tuple(labels))
    embedding = _embedding(client, clip(12))
    row = classify(
        Batch(embedding[None], ["a.wav"], np.array([np.nan]), np.array([np.nan])), changed
    )[0]
    result = answer["results"][0]
    assert (result["label"], result["score"]) == (row.label, row.score)
    assert not np.allclose(site.W[:-1], np.eye(site.dim))


@pytest.mark.parametrize("text", ["labels.txt", "./labels.txt", "labels.csv"])
def test_a_label_never_names_a_file(client, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / text).write_text("secret\nother secret\n")
    answer = client.post(
        "/v1/classify", params={"labels": f"{text}"}, files=form(("a.wav", clip(2)))
    ).json()
    assert answer["labels"] == [text]


@pytest.mark.parametrize("text", ["", " , ,", "siren, Siren", "a\0b", "x" * 300, '"open, quote'])
def test_bad_labels_are_refused(client, text):
    answer = client.post("/v1/classify", params={"labels": text}, files=form(("a.wav", clip(2))))
    if text.startswith('"'):  # an open quote runs to the end, as in any comma list
        assert answer.json()["labels"] == ["open, quote"]
    else:
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_labels")


def test_a_timeline_has_the_encoders_windows(client, tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wav(np.concatenate([tone(2, 1.0, 1), tone(12, 1.1, 2)])))
    result = client.post(
        "/v1/classify", params={"timeline": "true"}, files=form(("a.wav", path.read_bytes()))
    ).json()["results"][0]
    found = embed_timeline(BandEncoder(), path)
    batch = Batch(found.embeddings, ["a"] * len(found.start), found.start, found.end)
    rows = classify(batch, words().adapter())
    names = ("start", "end", "label", "score", "zero_shot", "zero_shot_score", "probability")
    assert result["timeline"] == [{name: getattr(row, name) for name in names} for row in rows]
    assert {entry["label"] for entry in result["timeline"]} >= {"tone 2", "tone 12"}
    plain = client.post("/v1/classify", files=form(("a.wav", path.read_bytes()))).json()
    assert {**result, "timeline": None} == plain["results"][0]


def test_below_the_threshold_it_is_unknown(client):
    answer = client.post(
        "/v1/classify", params={"threshold": "1"}, files=form(("a.wav", clip(2)))
    ).json()["results"][0]
    assert (answer["label"], answer["unknown"]) == ("unknown", True)
    assert answer["top"][0]["label"] == "tone 2"


@pytest.mark.parametrize(
    "query",
    [{"threshold": "nan"}, {"top": "0"}, {"rate": "7"}, {"format": "mp3"}, {"channels": "0"}],
)
def test_a_wrong_parameter_is_named(client, query):
    answer = client.post("/v1/classify", params=query, files=form(("a.wav", clip(2))))
    assert answer.status_code == 422
    error = answer.json()
    assert error["code"] == "invalid_parameter"
    assert next(iter(query)) in error["detail"]


def test_an_unknown_site_is_not_found(client):
    answer = client.post("/v1/classify", params={"site": "no"}, files=form(("a.wav", clip(2))))
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_site")


def _embedding(client, data: bytes) -> np.ndarray:
    answer = client.post("/v1/embeddings", files=form(("a.wav", data))).json()
    assert answer["encoder"] == "bands"
    vector = np.array(answer["results"][0]["embedding"], np.float32)
    assert vector.shape == (answer["dim"],)
    return vector


def _load(data: bytes) -> Adapter:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        path.write_bytes(data)
        return Adapter.load(path)

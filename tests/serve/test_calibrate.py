"""Calibrations: what they find, how they are told of, what they leave on the disk."""

from __future__ import annotations

import json

import numpy as np
import pytest

from prism_audio.encoders import embed_audio
from prism_audio.encoders.prompts import PromptSet
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import calibrate_place
from prism_audio.labelling.classify import classify, summarise
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.calibration_report import project
from tests.helpers.bands import LABELS, BandEncoder
from tests.helpers.service import calibrate, clip, clips, finished, form

NAMES = LABELS.split(", ")


def by_hand(tmp_path, recordings, labels=NAMES):
    """The same calibration without a service."""
    paths = []
    for name, data in recordings:
        paths.append(tmp_path / name)
        paths[-1].write_bytes(data)
    encoder = BandEncoder()
    rows = embed_audio(encoder, paths)
    nowhere = np.full(len(rows), np.nan)
    batch = Batch(rows, [path.name for path in paths], nowhere, nowhere, "clip")
    words = Vocabulary.from_text(encoder, labels, PromptSet.load("sentences"))
    return batch, calibrate_place(batch, words)


def test_a_site_is_made_and_stored(client, tmp_path):
    recordings = clips(20)
    job = calibrate(client, "yard", recordings)
    batch, adapter = by_hand(tmp_path, recordings)
    stored = Adapter.load(tmp_path / "store" / "yard.safetensors")
    assert np.allclose(stored.W, adapter.W, atol=1e-5)
    assert stored.labels == adapter.labels
    assert (stored.encoder, stored.prompts) == ("bands", "sentences-1")
    assert stored.facts.place == "yard"
    result = job["result"]
    assert (job["state"], job["stage"], job["done"], job["total"]) == ("done", "storing", 60, 60)
    assert (result["clips"], result["skipped"]) == (60, [])
    assert result["site"]["verdict"] == adapter.facts.verdict
    assert result["site"]["reasons"] == list(adapter.facts.reasons)
    assert result["site"] == client.get("/v1/sites/yard").json()
    rows = classify(batch, adapter)
    summary = summarise(rows)
    assert result["changed"] == summary.changed
    assert [(c["label"], c["before"], c["after"]) for c in result["classes"]][:3] == [
        (label, summary.before[label], summary.after[label]) for label in NAMES
    ]
    assert [(c["file"], c["label"]) for c in result["clips_table"]] == [
        (row.file, row.label) for row in rows
    ]
    shown = result["view"]
    assert len(shown["before"]) == len(shown["after"]) == len(shown["labels"]) == 60
    assert [NAMES[i] for i in shown["zero_shot"]] == [row.zero_shot for row in rows]
    assert not list((tmp_path / "store").rglob("*.tmp"))


def test_the_view_is_one_projection_of_both(tmp_path):
    batch, adapter = by_hand(tmp_path, clips(10))
    before, after = project(batch.embeddings, adapter)
    adapted = adapter.transform(batch.embeddings)
    assert np.allclose(np.concatenate([before, after]).mean(axis=0), 0, atol=1e-4)
    # No other plane holds more of the spread of the adapted points.
    largest = np.linalg.svd(adapted - adapted.mean(axis=0), compute_uv=False)[:2]
    found = np.linalg.svd(after - after.mean(axis=0), compute_uv=False)
    assert np.allclose(found, largest, rtol=1e-3)
    alone, _ = project(batch.embeddings[:1], adapter)
    assert alone.shape == (1, 2)


def test_embeddings_do_as_well_as_recordings(client):
    recordings = clips(15)
    rows = client.post("/v1/embeddings", files=form(*recordings)).json()["results"]
    body = json.dumps({"embeddings": [row["embedding"] for row in rows]})
    answer = client.post(
        "/v1/calibrate",
        params={"site": "rows"},
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 202, answer.text
    assert finished(client, answer.json()["url"])["state"] == "done"
    calibrate(client, "files", recordings)
    by_rows, by_files = (
        client.get(f"/v1/sites/{name}/adapter").content for name in ("rows", "files")
    )
    weights = [_tensors(data) for data in (by_rows, by_files)]
    assert np.array_equal(weights[0]["W"], weights[1]["W"])


def test_events_tell_the_way_and_the_end(client):
    answer = client.post("/v1/calibrate", params={"site": "yard"}, files=form(*clips(4))).json()
    with client.stream("GET", answer["events"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = _events("".join(stream.iter_text()))
    assert [kind for kind, _ in events][-1] == "done"
    assert {kind for kind, _ in events[:-1]} <= {"progress"}
    assert all(job["result"] is None for _, job in events[:-1])
    done = [job["done"] for _, job in events]
    assert done == sorted(done)
    assert events[-1][1] == client.get(answer["url"]).json()
    with client.stream("GET", answer["events"]) as again:
        assert _events("".join(again.iter_text())) == events[-1:]


def test_bad_recordings_are_left_out_and_listed(client):
    job = calibrate(client, "yard", [*clips(4), ("notes.txt", b"not sound at all")])
    assert job["result"]["clips"] == 12
    skipped = job["result"]["skipped"]
    assert [entry["file"] for entry in skipped] == ["notes.txt"]
    assert skipped[0]["error"]["code"] == "bad_audio"


def test_nothing_but_bad_recordings_fails_and_changes_nothing(client):
    before = client.get("/v1/sites").json()
    job = calibrate(client, "default", [("a.txt", b"x" * 99), ("b.txt", b"y" * 99)])
    assert (job["state"], job["error"]["code"]) == ("failed", "bad_audio")
    assert client.get("/v1/sites").json() == before


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_clips_stay_zero_shot_and_say_why(client, count):
    job = calibrate(client, "yard", [(f"{i}.wav", clip(2, i)) for i in range(count)])
    site = job["result"]["site"]
    assert (site["verdict"], site["clips"]) == ("zero-shot", count)
    assert site["reasons"]


def test_labels_prompts_and_preset_are_those_asked_for(client):
    labels = "tone 12, tone 3"
    calibrate(client, "yard", clips(6), labels=labels, prompts="plain", preset="paper")
    adapter = _card(client.get("/v1/sites/yard/adapter").content)
    assert adapter["labels"] == ["tone 12", "tone 3"]
    assert adapter["prompts"] == "plain-1"
    assert adapter["parameters"]["preset"] == "paper"
    # The next calibration of the site keeps its labels.
    calibrate(client, "yard", clips(6))
    assert client.get("/v1/sites/yard").json()["labels"] == ["tone 12", "tone 3"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"embeddings": []}', "row 0"),
        ('{"rows": [[1]]}', "no id"),
        ('{"lines": [[1]]}', "does not begin so"),
        ('{"embeddings": [[1, 2]]}', "has 2 numbers"),
        ('{"embeddings": [[' + ", ".join(["1"] * 15) + ', "2"]]}', "no list of numbers"),
        ('{"embeddings": [[' + ", ".join(["1"] * 15) + ", NaN]]}", "not between"),
        ('{"embeddings": [[' + ", ".join(["1"] * 15) + ", 1e99]]}", "not between"),
        ('{"embeddings": [[' + ", ".join(["1"] * 15) + ", " + "9" * 40 + "]]}", "not between"),
        ('{"embeddings": [[' + ", ".join(["1"] * 16) + "]", "does not go on"),
        ('{"embeddings": [[' + ", ".join(["1"] * 16) + "]], }", "does not go on"),
        ('{"embeddings": ' + "[" * 5000, "row 0"),
        ("", "does not begin so"),
        ("\xff", "does not begin so"),
    ],
)
def test_embeddings_that_are_none_are_refused(client, body, said):
    answer = client.post(
        "/v1/calibrate",
        params={"site": "yard"},
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_embeddings")
    assert said in answer.json()["detail"]


def test_more_rows_than_allowed_are_refused(serve):
    client = serve(rows=3)
    rows = np.eye(16)[:4].tolist()
    for count, status in ((3, 202), (4, 413)):
        answer = client.post(
            "/v1/calibrate", params={"site": "yard"}, json={"embeddings": rows[:count]}
        )
        assert answer.status_code == status


def test_an_unknown_job_is_not_found(client):
    for url in ("/v1/jobs/abc", "/v1/jobs/abc/events"):
        assert client.get(url).json()["code"] == "unknown_job"


def _events(text: str) -> list[tuple[str, dict]]:
    found = []
    for block in text.split("\n\n"):
        if block.startswith("event: "):
            kind, _, data = block.removeprefix("event: ").partition("\ndata: ")
            found.append((kind, json.loads(data)))
    return found


def _tensors(data: bytes) -> dict[str, np.ndarray]:
    from safetensors.numpy import load

    return load(data)


def _card(data: bytes) -> dict:
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["card"])


def test_products_stay_on_one_core(client):
    """A process that starts beside a product on several cores can hang OpenBLAS for ever."""
    from threadpoolctl import threadpool_info

    blas = [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]
    assert set(blas) <= {1}

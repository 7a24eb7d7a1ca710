"""A recording is embedded once: labels, other labels and calibrations use what is kept of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from prism_audio.serve import row_cache
from tests.helpers.bands import BandEncoder
from tests.helpers.service import clip, clips, finished, form


class Counting(BandEncoder):
    """Counts the windows that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.windows = 0

    def embed_windows(self, windows):
        self.windows += len(windows)
        return super().embed_windows(windows)


@pytest.fixture
def encoder():
    return Counting()


def classify(client, **options):
    query = {"timeline": "true", **options.pop("params", {})}
    return client.post("/v1/classify", params=query, **options)


def rows_of(answer) -> list[str]:
    return [result["row"] for result in answer.json()["results"]]


def test_the_same_sound_is_embedded_once(serve, encoder):
    client = serve(encoder=encoder)
    first = classify(client, files=form(("a.wav", clip(2)), ("b.wav", clip(7))))
    embedded = encoder.windows
    again = classify(client, files=form(("c.wav", clip(2)), ("b.wav", clip(7))))
    assert encoder.windows == embedded > 0
    assert again.json()["results"][0]["file"] == "c.wav"
    assert rows_of(first) == rows_of(again)
    for before, after in zip(first.json()["results"], again.json()["results"], strict=True):
        assert {**before, "file": ""} == {**after, "file": ""}


def test_ids_stand_for_recordings(serve, encoder):
    client = serve(encoder=encoder)
    first = classify(client, files=form(*clips(2)))
    embedded = encoder.windows
    ids = rows_of(first)
    again = classify(client, json={"rows": ids})
    for before, after in zip(first.json()["results"], again.json()["results"], strict=True):
        assert before == after
    labels = {"labels": "tone 12, tone 3"}
    other = classify(client, params=labels, json={"rows": ids}).json()
    assert other["labels"] == ["tone 12", "tone 3"]
    sent = classify(client, params=labels, files=form(*clips(2))).json()
    assert [r["score"] for r in other["results"]] == [r["score"] for r in sent["results"]]
    assert encoder.windows == embedded


def test_a_calibration_by_ids_is_that_of_the_recordings(serve, encoder):
    client = serve(encoder=encoder)
    ids = rows_of(classify(client, files=form(*clips(15))))
    embedded = encoder.windows
    by_ids = client.post("/v1/calibrate", params={"site": "ids"}, json={"rows": ids})
    assert finished(client, by_ids.json()["url"])["state"] == "done"
    by_files = client.post("/v1/calibrate", params={"site": "files"}, files=form(*clips(15)))
    assert finished(client, by_files.json()["url"])["state"] == "done"
    assert encoder.windows == embedded
    sites = client.app.state.service.sites
    first, second = sites.get("ids").adapter, sites.get("files").adapter
    assert np.array_equal(first.W, second.W)
    assert first.facts.seconds == second.facts.seconds == 1.2


def test_embeddings_are_labelled(client):
    answer = client.post("/v1/embeddings", files=form(("a.wav", clip(7)))).json()
    row = answer["results"][0]["embedding"]
    by_row = classify(client, json={"embeddings": [row]}).json()["results"][0]
    by_sound = classify(client, files=form(("a.wav", clip(7)))).json()["results"][0]
    assert by_row["label"] == by_sound["label"]
    for name in ("score", "zero_shot_score", "margin"):
        assert by_row[name] == pytest.approx(by_sound[name], abs=1e-5)
    assert (by_row["seconds"], by_row["row"], by_row["timeline"]) == (None, None, [])


def test_what_is_not_kept_is_named(client):
    (id,) = rows_of(classify(client, files=form(("a.wav", clip(2)))))
    unknown = "0" * 32
    answer = classify(client, json={"rows": [id, unknown]}).json()
    assert answer["results"][0]["label"] == "tone 2"
    assert answer["results"][1]["error"]["code"] == "unknown_row"
    assert answer["results"][1]["file"] == unknown
    none = classify(client, json={"rows": [unknown]})
    assert (none.status_code, none.json()["code"]) == (404, "unknown_row")
    job = client.post("/v1/calibrate", params={"site": "yard"}, json={"rows": [unknown]})
    assert (job.status_code, job.json()["code"]) == (404, "unknown_row")


@pytest.mark.parametrize(
    "body",
    [
        '{"rows": []}',
        '{"rows": ["' + 32 * "0" + '"], "names": []}',
        '{"rows": ["x"]}',
        '{"rows": [1]}',
        '{"rows": [',
        '{"rows": [], "a": 1}',
    ],
)
def test_ids_that_are_none_are_refused(client, body):
    answer = classify(client, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_embeddings")


def in_database(tmp_path, *statement) -> list:
    with closing(
        sqlite3.connect(tmp_path / "store/rows/rows.sqlite", isolation_level=None)
    ) as rows:
        return rows.execute(*statement).fetchall()


def test_rows_are_there_after_a_restart_and_a_damaged_one_is_not(serve, encoder, tmp_path):
    client = serve()
    first = classify(client, files=form(("a.wav", clip(2)), ("b.wav", clip(7))))
    ids = rows_of(first)
    client.app.state.service.embedder.rows.close()
    in_database(tmp_path, "UPDATE rows SET arrays = x'00' WHERE id = ?", (ids[1],))
    answer = classify(serve(encoder=encoder), json={"rows": ids}).json()["results"]
    assert {**answer[0], "file": "a.wav"} == first.json()["results"][0]
    assert answer[1]["error"]["code"] == "unknown_row"
    assert encoder.windows == 0


def test_a_damaged_database_is_begun_anew(serve, encoder, tmp_path):
    file = tmp_path / "store/rows/rows.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"nonsense" * 1000)
    ids = rows_of(classify(serve(), files=form(("a.wav", clip(2)))))
    answer = classify(serve(encoder=encoder), json={"rows": ids}).json()["results"]
    assert (answer[0]["label"], encoder.windows) == ("tone 2", 0)


def test_memory_and_disk_are_bounded(client, tmp_path, monkeypatch):
    cache = client.app.state.service.embedder.rows
    monkeypatch.setattr(row_cache, "MEMORY_BYTES", 20_000)
    monkeypatch.setattr(row_cache, "DISK_BYTES", 6_000)
    ids = rows_of(classify(client, files=form(*clips(5))))
    cache.close()
    sizes = [size for (size,) in in_database(tmp_path, "SELECT length(arrays) FROM rows")]
    assert 0 < sum(sizes) <= 6_000
    assert len(sizes) < len(ids)
    kept = list(cache._memory)
    assert 0 < len(kept) < 5
    assert [id for id in ids if cache.get(id) is not None] == [id for id in ids if id in kept]

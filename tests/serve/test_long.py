"""Long recordings: windows, events and their files; what is cut short; background words."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import numpy as np
import pytest

from prism_audio.labelling.batch import embed_batch
from prism_audio.labelling.events import FileEvent, detect_events
from prism_audio.labelling.formats import FORMATS, Recording, TimedLabel
from tests.helpers.bands import RATE, BandEncoder, tone
from tests.helpers.service import calibrate, clip, clips, finished, form, wav

SECONDS, CALLS = 480.0, (30, 90, 150, 400)


@pytest.fixture(scope="module")
def recording() -> bytes:
    """Eight minutes of one tone, with short calls of another."""
    sound = 0.2 * tone(2, SECONDS, 1)
    for at in CALLS:
        call = 0.3 * tone(12, 4.0, at)
        sound[at * RATE : at * RATE + len(call)] += call
    return wav(sound)


def classify(client, data, **query):
    answer = client.post("/v1/classify", params=query, files=form(("long.wav", data)))
    assert answer.status_code == 200, answer.text
    return answer.json()["results"][0]


def test_events_of_a_long_recording_are_those_of_the_command_line(client, recording, tmp_path):
    path = tmp_path / "long.wav"
    path.write_bytes(recording)
    site = client.app.state.service.sites["default"]
    batch = embed_batch([path], BandEncoder(), per_window=True)
    wanted = detect_events(batch, site.adapter)
    events = classify(client, recording)["events"]
    assert [(e["start"], e["end"], e["label"]) for e in events] == [
        (e.start, e.end, e.label) for e in wanted
    ]
    assert [e["confidence"] for e in events] == pytest.approx([e.confidence for e in wanted])
    calls = [e for e in events if e["label"] == "tone 12"]
    assert [e["start"] for e in calls] == pytest.approx(CALLS, abs=2)


def test_length_decides_unless_the_client_does(client, recording):
    assert classify(client, recording, windows=False)["events"] is None
    assert classify(client, clip(7))["events"] is None
    short = classify(client, clip(7, seconds=4.0), windows=True)["events"]
    assert [(e["label"], e["confidence"]) for e in short] == [("tone 7", None)]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_events_come_in_the_formats_of_the_command_line(client, recording, name):
    result = classify(client, recording)
    file = "yard/named anew.wav"
    body = {"rows": [result["row"]], "names": [file]}
    answer = client.post("/v1/events", params={"form": name}, json=body)
    assert answer.status_code == 200, answer.text
    events = [
        TimedLabel(file, e["start"], e["end"], e["label"], e["confidence"])
        for e in result["events"]
    ]
    told = [Recording(file, SECONDS, BandEncoder.rate)]
    assert answer.text == FORMATS[name].write(events, told)
    assert FORMATS[name].suffix in answer.headers["content-disposition"]


def test_events_as_tables_and_of_several_recordings(client, recording):
    files = form(("a/one.wav", recording), ("b/one.wav", recording), ("c.wav", b"no sound"))
    answer = client.post("/v1/events", params={"form": "json"}, files=files)
    table = json.loads(answer.content)
    assert {row["file"] for row in table} == {"a/one.wav", "b/one.wav"}
    text = client.post("/v1/events", files=files).text
    assert [row["label"] for row in csv.DictReader(io.StringIO(text))] == [
        row["label"] for row in table
    ]
    assert text.startswith(",".join(FileEvent._fields))
    packed = client.post("/v1/events", params={"form": "audacity"}, files=files)
    assert "events.zip" in packed.headers["content-disposition"]
    names = zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
    assert names == ["001 one.txt", "002 one.txt"]


def test_a_calibration_looks_at_the_windows_of_long_recordings(client, recording):
    row = classify(client, recording, timeline=True)
    job = client.post("/v1/calibrate", params={"site": "long"}, json={"rows": [row["row"]]})
    done = finished(client, job.json()["url"])
    assert done["state"] == "done", done
    facts = client.app.state.service.sites["long"].adapter.facts
    assert (facts.row, facts.N) == ("window", len(row["timeline"]))
    job = calibrate(client, "short", clips(2), windows="true")
    assert job["result"]["clips"] > 6


def test_too_many_windows_are_thinned_out_evenly(serve, recording):
    client = serve(rows=100)
    job = client.post("/v1/calibrate", params={"site": "long"}, files=form(("long.wav", recording)))
    done = finished(client, job.json()["url"])
    assert 50 < done["result"]["clips"] <= 100


def test_embeddings_have_no_windows(client):
    row = np.eye(16)[3].tolist()
    job = client.post(
        "/v1/calibrate", params={"site": "x", "windows": True}, json={"embeddings": [row]}
    )
    assert finished(client, job.json()["url"])["error"]["code"] == "no_windows"


def test_what_is_cut_short_says_so(client):
    whole = clip(7, seconds=4.0)
    cut = classify(client, whole[: len(whole) // 2])
    assert "cut short" in cut["warnings"][0]
    assert classify(client, whole)["warnings"] == []
    by_row = client.post("/v1/classify", json={"rows": [cut["row"]]}).json()["results"][0]
    assert by_row["warnings"] == cut["warnings"]


def test_background_words_compete_and_are_not_reported(client):
    query = {"labels": "tone 2, tone 7", "background": "tone 12"}
    answer = client.post(
        "/v1/classify", params=query, files=form(("a.wav", clip(12)), ("b.wav", clip(7)))
    ).json()
    assert (answer["labels"], answer["background"]) == (["tone 2", "tone 7"], ["tone 12"])
    assert [result["label"] for result in answer["results"]] == ["background", "tone 7"]
    twice = client.post(
        "/v1/classify", params={"background": "tone 2"}, files=form(("a.wav", clip(2)))
    )
    assert (twice.status_code, twice.json()["code"]) == (422, "bad_labels")


def test_a_site_keeps_its_background_words(client):
    calibrate(client, "yard", clips(15), labels="tone 2, tone 7", background="tone 12")
    site = client.get("/v1/sites/yard").json()
    assert (site["labels"], site["background"]) == (["tone 2", "tone 7"], ["tone 12"])
    files = form(("a.wav", clip(12)))

    def asked(**query):
        return client.post("/v1/classify", params={"site": "yard", **query}, files=files).json()

    assert asked()["results"][0]["label"] == "background"
    other = asked(labels="tone 3, tone 7")
    assert (other["background"], other["results"][0]["label"]) == (["tone 12"], "background")
    assert asked(labels="tone 12, tone 7")["background"] == []
    assert asked(background="")["background"] == []

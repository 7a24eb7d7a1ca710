"""Labels that people give clips of a site: picked, written down, judged, kept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.service import calibrate, clips, finished, form

TRUE = {"02": "tone 2", "07": "tone 7", "12": "tone 12"}


@pytest.fixture
def heard(client: Any) -> tuple[list[str], dict[str, str]]:
    """Row ids of 24 recordings that the service knows, and what each truly is."""
    answer = client.post("/v1/classify", files=form(*clips(8))).json()
    rows = [result["row"] for result in answer["results"]]
    truth = {result["row"]: TRUE[result["file"][:2]] for result in answer["results"]}
    return rows, truth


def test_labels_are_picked_judged_and_kept(client: Any, serve: Any, heard: Any) -> None:
    rows, truth = heard
    site = "/v1/sites/default"
    sheet = client.post(f"{site}/pick", json={"rows": rows}).json()
    assert {clip["row"] for clip in sheet["clips"]} == set(rows)
    assert {clip["probability"] for clip in sheet["clips"]} == {1}
    none = client.post(f"{site}/check", json={"rows": rows}).json()
    assert none["listened"] == 0
    assert none["adapted"] == {"value": None, "low": 0, "high": 1}
    widths = []
    for count, clip in enumerate(sheet["clips"][:9], start=1):
        label = truth[clip["row"]]
        path = f"{site}/labels/{clip['row']}"
        answer = client.put(path, params={"label": label, "file": f"{count}.wav"})
        assert answer.status_code == 200, answer.text
        assert answer.json() == {**clip, "label": label, "file": f"{count}.wav"}
        check = client.post(f"{site}/check", json={"rows": rows}).json()
        assert check["listened"] == count
        widths.append(check["adapted"]["high"] - check["adapted"]["low"])
    assert widths[-1] < widths[0]
    again = serve()  # a restart
    kept = again.get(f"{site}/labels").json()
    assert [clip["label"] for clip in kept["clips"]] == [
        truth[clip["row"]] if i < 9 else "" for i, clip in enumerate(kept["clips"])
    ]
    assert again.post(f"{site}/pick", json={"rows": rows}).json() == kept


def test_labels_follow_the_site(client: Any, heard: Any) -> None:
    rows, truth = heard
    calibrate(client, "street", clips(8))
    sheet = client.post("/v1/sites/street/pick", json={"rows": rows}).json()
    first = sheet["clips"][0]["row"]
    client.put(f"/v1/sites/street/labels/{first}", params={"label": truth[first]})
    client.post("/v1/sites/street/rename", params={"name": "yard"})
    assert client.get("/v1/sites/yard/labels").json()["clips"][0]["label"] == truth[first]
    client.delete("/v1/sites/yard")
    calibrate(client, "yard", clips(8))
    assert client.get("/v1/sites/yard/labels").json() == {"clips": []}


def test_labels_of_other_recordings_are_not_lost(client: Any, heard: Any) -> None:
    rows, truth = heard
    site = "/v1/sites/default"
    sheet = client.post(f"{site}/pick", json={"rows": rows[:12]}).json()
    other = client.post(f"{site}/pick", json={"rows": rows[12:]}).json()  # none had a label
    first = other["clips"][0]["row"]
    assert not {clip["row"] for clip in other["clips"]} & {clip["row"] for clip in sheet["clips"]}
    client.put(f"{site}/labels/{first}", params={"label": truth[first]})
    refused = client.post(f"{site}/pick", json={"rows": rows[:12]})
    assert (refused.status_code, refused.json()["code"]) == (409, "other_recordings")
    assert client.put(f"{site}/labels", json={"clips": []}).status_code == 200
    assert client.post(f"{site}/pick", json={"rows": rows[:12]}).json() == sheet


def test_sheets_come_back_as_they_went(client: Any, heard: Any) -> None:
    rows, truth = heard
    site = "/v1/sites/default"
    sheet = client.post(f"{site}/pick", json={"rows": rows}).json()
    for clip in sheet["clips"]:
        clip["label"] = truth[clip["row"]]
    assert client.put(f"{site}/labels", json=sheet).json() == sheet
    assert client.get(f"{site}/labels").json() == sheet
    check = client.post(f"{site}/check", json={"rows": rows}).json()
    answers = {clip["row"]: clip["suggestion"] for clip in sheet["clips"]}
    right = sum(answers[row] == truth[row] for row in rows) / len(rows)
    for name in ("zero_shot", "adapted"):
        assert check[name]["value"] == pytest.approx(right, abs=0.01)
        assert check[name]["high"] - check[name]["low"] < 0.02
    assert check["verdict"] == "the adapter and zero-shot give the same answers"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("pick", {"rows": ["0" * 32]}, 404, "unknown_row"),
        ("pick", {"rows": []}, 422, "bad_embeddings"),
        ("check", {"embeddings": [[1.0]]}, 422, "bad_embeddings"),
    ],
)
def test_rows_that_cannot_be_used(
    client: Any, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    answer = client.post(f"/v1/sites/default/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_labels_that_cannot_be_used(client: Any, heard: Any) -> None:
    rows, _ = heard
    row = client.post("/v1/sites/default/pick", json={"rows": rows}).json()["clips"][0]["row"]
    path = "/v1/sites/default/labels"
    wrong = client.put(f"{path}/{row}", params={"label": "tone 99"})
    assert wrong.status_code == 422
    assert "not one of the labels" in wrong.json()["detail"]
    assert client.put(f"{path}/{'0' * 32}", params={"label": "tone 2"}).status_code == 404
    assert client.put(f"{path}/{row}", params={"label": "other"}).json()["label"] == "other"
    assert client.put(path, json={"clips": [{"row": "x"}]}).json()["code"] == "bad_sheet"
    assert client.get("/v1/sites/nowhere/labels").status_code == 404


def test_search_by_words_and_by_sound(client: Any, heard: Any) -> None:
    rows, truth = heard
    path = "/v1/sites/default/search"
    like = next(row for row in rows if truth[row] == "tone 12")
    for query, label in (({"text": "tone 7"}, "tone 7"), ({"like": like}, "tone 12")):
        hits = client.post(path, params=query, json={"rows": rows}).json()["results"]
        assert [hit["score"] for hit in hits] == sorted((h["score"] for h in hits), reverse=True)
        assert {truth[hit["row"]] for hit in hits[:8]} == {label}
        assert len(hits) == len(rows)
    assert hits[0]["row"] == like
    for wrong in ({}, {"text": "a", "like": like}):
        refused = client.post(path, params=wrong, json={"rows": rows})
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_query")
    assert client.post(path, params={"like": "0" * 32}, json={"rows": rows}).status_code == 404


def test_a_calibration_learns_from_the_labels(client: Any, heard: Any) -> None:
    rows, truth = heard
    calibrate(client, "street", clips(8))
    path = "/v1/sites/street"
    query = {"site": "street", "labelled": "true", "take_weaker": "true"}
    refused = client.post("/v1/calibrate", params=query, json={"rows": rows})
    assert (refused.status_code, refused.json()["code"]) == (422, "no_labels")
    for number, clip in enumerate(client.post(f"{path}/pick", json={"rows": rows}).json()["clips"]):
        label = "other" if number == 3 else truth[clip["row"]]
        client.put(f"{path}/labels/{clip['row']}", params={"label": label})
    accepted = client.post("/v1/calibrate", params=query, json={"rows": rows})
    job = finished(client, accepted.json()["url"])
    assert job["state"] == "done", job
    assert job["result"]["taken"]
    adapter = client.app.state.service.sites["street"].adapter
    assert adapter.facts.numbers["labels"] == 23
    windows = client.post("/v1/calibrate", params={**query, "windows": "true"}, json={"rows": rows})
    failed = finished(client, windows.json()["url"])
    assert (failed["state"], failed["error"]["code"]) == ("failed", "no_windows")

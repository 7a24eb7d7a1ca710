"""Versions of a site: a calibration can be undone, and a weaker one replaces nothing."""

from __future__ import annotations

import numpy as np
import pytest

from prism_audio.model.adapter import Adapter
from prism_audio.serve.site_store import read_bytes
from tests.helpers.bands import OtherEncoder
from tests.helpers.service import calibrate, clip, clips, form
from tests.serve.test_sites import adapter

BINARY = {"Content-Type": "application/octet-stream"}


def history(client, site: str = "yard") -> dict:
    return client.get(f"/v1/sites/{site}/history").json()


def use(client, version: int, site: str = "yard"):
    return client.post(f"/v1/sites/{site}/use", params={"version": version})


def same(first: bytes, second: bytes) -> bool:
    a, b = read_bytes(first), read_bytes(second)
    return bool((a.W == b.W).all()) and (a.labels, a.facts) == (b.labels, b.facts)


def test_one_file_does_not_replace_a_good_correction(client, tmp_path):
    good = calibrate(client, "yard", clips(20), preset="paper")["result"]
    assert good["site"]["verdict"] in ("adapted", "shrunk")
    weak = calibrate(client, "yard", [("one.wav", clip(2))])["result"]
    assert (weak["taken"], weak["version"], weak["site"]["verdict"]) == (False, 2, "zero-shot")
    present = client.get("/v1/sites/yard").json()
    assert (present["verdict"], present["version"]) == (good["site"]["verdict"], 1)
    stored = Adapter.load(tmp_path / "store" / "yard.safetensors")
    assert stored.facts.N == 60
    # It is kept, and may be taken on purpose.
    assert [v["clips"] for v in history(client)["versions"]] == [60, 1]
    assert use(client, 2).json()["verdict"] == "zero-shot"
    assert Adapter.load(tmp_path / "store" / "yard.safetensors").facts.N == 1


def test_a_weaker_calibration_is_taken_where_that_is_asked_for(client):
    calibrate(client, "yard", clips(20), preset="paper")
    job = calibrate(client, "yard", [("one.wav", clip(2))], take_weaker="true")
    assert job["result"]["taken"]
    assert client.get("/v1/sites/yard").json()["verdict"] == "zero-shot"


def test_undo_goes_back_and_forth(client):
    calibrate(client, "yard", clips(12), labels="tone 2, tone 7")
    first = client.get("/v1/sites/yard/adapter").content
    calibrate(client, "yard", clips(20), labels="tone 2, tone 12", take_weaker="true")
    site = client.get("/v1/sites/yard").json()
    assert (site["version"], site["previous"], site["labels"]) == (2, 1, ["tone 2", "tone 12"])
    undone = use(client, site["previous"]).json()
    assert (undone["version"], undone["previous"], undone["labels"]) == (1, 2, ["tone 2", "tone 7"])
    for query in ({}, {"version": 1}):
        assert same(client.get("/v1/sites/yard/adapter", params=query).content, first)
    redone = use(client, undone["previous"]).json()
    assert (redone["version"], redone["labels"]) == (2, ["tone 2", "tone 12"])


def test_undo_of_a_first_calibration_of_the_default_site(client):
    before = client.post("/v1/classify", files=form(("a.wav", clip(7)))).json()
    calibrate(client, "default", clips(20), preset="paper")
    site = client.get("/v1/sites/default").json()
    assert (site["version"], site["previous"]) == (1, 0)
    assert use(client, 0, "default").json()["verdict"] == "none"
    assert client.post("/v1/classify", files=form(("a.wav", clip(7)))).json() == before
    assert client.get("/v1/sites/default/adapter").status_code == 404


def test_a_correction_given_at_start_can_be_gone_back_to(serve, tmp_path):
    adapter().save(tmp_path / "gate.safetensors")
    client = serve(adapters=(tmp_path / "gate.safetensors",))
    calibrate(client, "gate", clips(9), take_weaker="true")
    kept = history(client, "gate")
    assert [v["origin"] for v in kept["versions"]] == ["start", "calibration"]
    assert use(client, kept["previous"], "gate").json()["clips"] == 7


def test_history_is_there_after_a_restart(serve):
    client = serve()
    calibrate(client, "yard", clips(12))
    calibrate(client, "yard", clips(20), take_weaker="true")
    use(client, 1)
    before = history(client)
    again = serve()
    assert history(again) == before
    assert again.get("/v1/sites/yard").json()["version"] == 1
    assert use(again, 2).status_code == 200


def test_old_versions_are_dropped_and_the_one_in_use_never(client, tmp_path, monkeypatch):
    monkeypatch.setattr("prism_audio.model.history.MOST_VERSIONS", 3)
    body = client_file(tmp_path)
    for _ in range(2):
        client.put("/v1/sites/yard", content=body, headers=BINARY)
    use(client, 1)
    for _ in range(4):
        calibrate(client, "yard", [("one.wav", clip(2))])
    kept = history(client)
    assert kept["in_use"] == 1
    assert [v["version"] for v in kept["versions"]] == [1, 2, 6]
    files = sorted(path.name for path in (tmp_path / "store/history/yard").glob("*.safetensors"))
    assert files == ["0001.safetensors", "0002.safetensors", "0006.safetensors"]


def client_file(folder, **options) -> bytes:
    return adapter(**options).save(folder / "up.safetensors").read_bytes()


def test_an_adapter_is_uploaded(client, tmp_path):
    body = client_file(tmp_path)
    answer = client.put("/v1/sites/gate", content=body, headers=BINARY)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["labels"], answer.json()["version"]) == (["a", "b"], 1)
    assert same(client.get("/v1/sites/gate/adapter").content, body)
    result = client.post("/v1/classify", params={"site": "gate"}, files=form(("a", clip(2))))
    assert result.json()["results"][0]["label"] in ("a", "b")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"x" * 5000])
def test_what_is_no_adapter_is_refused(client, content):
    answer = client.put("/v1/sites/gate", content=content, headers=BINARY)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_adapter")
    assert "/tmp" not in answer.json()["detail"]
    assert client.get("/v1/sites/gate").status_code == 404


def test_an_upload_of_another_encoder_or_a_wrong_name_is_refused(client, tmp_path):
    body = client_file(tmp_path, encoder=OtherEncoder)
    answer = client.put("/v1/sites/gate", content=body, headers=BINARY)
    assert answer.status_code == 422
    assert "another space" in answer.json()["detail"]
    answer = client.put("/v1/sites/Gate", content=client_file(tmp_path), headers=BINARY)
    assert answer.json()["code"] == "bad_site_name"


def test_a_site_is_renamed(client, tmp_path):
    calibrate(client, "yard", clips(12))
    before = client.get("/v1/sites/yard/adapter").content
    renamed = client.post("/v1/sites/yard/rename", params={"name": "court"})
    assert renamed.json()["name"] == "court"
    assert client.get("/v1/sites/yard").status_code == 404
    assert same(client.get("/v1/sites/court/adapter").content, before)
    assert [v["version"] for v in history(client, "court")["versions"]] == [1]
    assert (tmp_path / "store" / "court.safetensors").exists()
    again = client.post("/v1/sites/court/rename", params={"name": "default"})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")


def test_a_calibrated_default_may_move_away(client):
    calibrate(client, "default", clips(20), preset="paper")
    moved = client.post("/v1/sites/default/rename", params={"name": "street"})
    assert moved.json()["verdict"] == "adapted"
    fresh = client.get("/v1/sites/default").json()
    assert (fresh["verdict"], fresh["version"]) == ("none", 0)
    refused = client.post("/v1/sites/default/rename", params={"name": "other"})
    assert refused.json()["code"] == "default_site"


def test_an_unknown_version_is_not_found(client):
    for answer in (use(client, 9, "default"), client.get("/v1/sites/default/adapter?version=9")):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_version")


def test_a_damaged_index_costs_the_history_alone(serve, tmp_path):
    calibrate(serve(), "yard", clips(12))
    (tmp_path / "store/history/yard/index.json").write_text('{"in_use": "x"}')
    again = serve()
    assert again.get("/v1/sites/yard").json()["clips"] == 36
    calibrate(again, "yard", clips(20), take_weaker="true")
    kept = history(again)
    assert [v["origin"] for v in kept["versions"]] == ["start", "calibration"]
    assert np.isfinite(kept["versions"][0]["clips"])

"""Several places side by side: made, replaced, removed, and there again after a restart."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from prism_audio.errors import AdapterError, InputError, PrismError
from prism_audio.model.adapter import Adapter
from prism_audio.model.facts import Facts
from prism_audio.serve.errors import ApiError
from prism_audio.serve.site import Site, name_of
from prism_audio.serve.site_store import SiteStore
from prism_audio.serve.sites import Sites
from tests.helpers.bands import BandEncoder, OtherEncoder
from tests.helpers.service import calibrate, clip, clips, form


def adapter(seed: int = 0, encoder: type[BandEncoder] = BandEncoder) -> Adapter:
    rng = np.random.default_rng(seed)
    prototypes = rng.standard_normal((2, 16)).astype(np.float32)
    return Adapter(
        rng.standard_normal((17, 16)).astype(np.float32),
        prototypes / np.linalg.norm(prototypes, axis=1, keepdims=True),
        ("a", "b"),
        encoder=encoder.id,
        encoder_fingerprint=encoder.fingerprint,
        facts=Facts(verdict="adapted", N=7, date="2026-05-04 09:30 UTC"),
    )


def test_what_the_store_holds_is_there_after_a_restart(serve):
    calibrate(serve(), "yard", clips(8))
    again = serve()
    sites = again.get("/v1/sites").json()
    assert [site["name"] for site in sites["sites"]] == ["default", "yard"]
    assert again.get("/v1/sites/yard/adapter").status_code == 200


def test_a_calibrated_default_wins_over_the_file_given_at_start(serve, tmp_path):
    given = tmp_path / "Gate 3.safetensors"
    adapter().save(given)
    client = serve(adapters=(given,))
    assert client.get("/v1/sites").json()["default"] == "gate-3"
    assert client.get("/v1/sites/gate-3").json()["clips"] == 7
    calibrate(client, "gate-3", clips(5), take_weaker="true")
    again = serve(adapters=(given,))
    assert again.get("/v1/sites/gate-3").json()["clips"] == 15
    notes = again.app.state.service.sites.notes
    assert "gate-3" in notes[0]
    assert Adapter.load(given).facts.N == 7


def test_what_a_store_holds_by_mistake_is_left_out(serve, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "broken.safetensors").write_bytes(b"nonsense")
    adapter(0, OtherEncoder).save(store / "other.safetensors")
    adapter().save(store / "Bad Name.safetensors")
    adapter().save(store / "good.safetensors")
    client = serve()
    names = [site["name"] for site in client.get("/v1/sites").json()["sites"]]
    assert names == ["default", "good"]
    notes = client.app.state.service.sites.notes
    assert len(notes) == 3
    assert all(any(word in note for note in notes) for word in ("broken", "other", "Bad Name"))


def test_a_site_is_described_by_its_card(serve, tmp_path):
    adapter().save(tmp_path / "gate.safetensors")
    site = serve(adapters=(tmp_path / "gate.safetensors",)).get("/v1/sites/gate").json()
    assert site["date"] == "2026-05-04T09:30:00+00:00"
    assert (site["verdict"], site["labels"], site["weight"]) == ("adapted", ["a", "b"], None)
    assert site["encoder"] == {"id": "bands", "rate": 8000, "window": 0.5, "hop": 0.25, "dim": 16}


def test_a_zero_shot_site_has_no_adapter(client):
    answer = client.get("/v1/sites/default/adapter")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_adapter")


def test_the_adapter_comes_as_a_file(client, tmp_path):
    calibrate(client, "yard", clips(5))
    answer = client.get("/v1/sites/yard/adapter")
    assert answer.headers["content-disposition"] == 'attachment; filename="yard.safetensors"'
    (tmp_path / "came.safetensors").write_bytes(answer.content)
    came = Adapter.load(tmp_path / "came.safetensors")
    kept = Adapter.load(tmp_path / "store" / "yard.safetensors")
    assert np.array_equal(came.W, kept.W)
    assert (came.labels, came.facts) == (kept.labels, kept.facts)


def test_a_site_is_removed_from_the_disk_too(client, tmp_path):
    calibrate(client, "yard", clips(5))
    assert client.delete("/v1/sites/yard").status_code == 204
    assert client.get("/v1/sites/yard").status_code == 404
    assert not list((tmp_path / "store").rglob("*.safetensors"))
    assert client.delete("/v1/sites/yard").status_code == 404
    refused = client.delete("/v1/sites/default")
    assert (refused.status_code, refused.json()["code"]) == (409, "default_site")


@pytest.mark.parametrize("name", ["../up", "a/b", "A", "", ".hidden", "a b", "é", "a" * 65, "a\n"])
def test_what_cannot_name_a_file_cannot_name_a_site(client, tmp_path, name):
    answer = client.post("/v1/calibrate", params={"site": name}, files=form(("a.wav", clip(2))))
    assert answer.status_code == 422
    assert not list((tmp_path / "store").rglob("*.safetensors"))
    sites = Sites([Site("x", adapter())], BandEncoder())
    with pytest.raises(ApiError, match="cannot name a site"):
        sites.put(Site(name, adapter()), "upload")


def test_names_of_files_become_names_of_sites(tmp_path):
    for stem, name in (
        ("Gate 3", "gate-3"),
        ("höfe", "h-fe"),
        ("---", "site"),
        ("a" * 99, "a" * 64),
    ):
        assert name_of(tmp_path / f"{stem}.safetensors") == name


def test_two_files_of_one_name_are_refused(serve, tmp_path):
    paths = (tmp_path / "Gate.safetensors", tmp_path / "gate.safetensors")
    for path in paths:
        adapter().save(path)
    with pytest.raises(InputError, match="would both be the site 'gate'"):
        serve(adapters=paths)


def test_an_adapter_of_another_encoder_is_refused(serve, tmp_path):
    adapter(0, OtherEncoder).save(tmp_path / "gate.safetensors")
    with pytest.raises(AdapterError, match="another space"):
        serve(adapters=(tmp_path / "gate.safetensors",))


def test_a_store_that_cannot_be_is_refused(serve, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PrismError, match="cannot use the store"):
        serve(store=tmp_path / "file")


def test_two_services_cannot_share_a_store(client, tmp_path):
    with pytest.raises(PrismError, match="another service uses the store"):
        Sites([Site("x", adapter())], BandEncoder(), tmp_path / "store")


def test_whoever_began_with_a_site_ends_with_it():
    old, new = Site("x", adapter(1)), Site("x", adapter(2))
    sites = Sites([old], BandEncoder())
    held = sites.get("x")
    listed = list(sites.values())
    sites.put(new, "calibration")
    sites.put(Site("y", adapter(3)), "calibration")
    assert held is old
    assert listed == [old]
    assert sites.get("x").adapter is new.adapter


def test_a_failed_store_leaves_the_site_as_it_was(tmp_path):
    old = Site("x", adapter(1))
    sites = Sites([old], BandEncoder(), tmp_path / "store")
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(PrismError, match="cannot write"):
        sites.put(Site("x", adapter(2)), "calibration")
    assert sites.get("x") is old


def test_sites_are_never_mixed_while_one_is_calibrated(client):
    """Every answer is that of one whole adapter of the site that was asked, old or new."""
    first = {"left": ("tone 2, tone 7", clips(9)), "right": ("tone 12, tone 2", clips(9))}
    for name, (labels, recordings) in first.items():
        calibrate(client, name, recordings, labels=labels, preset="paper")
    sound = clip(7, 77)
    adapters = {name: [_adapter(client, name)] for name in first}
    answers: dict[str, list[dict]] = {"left": [], "right": []}
    done = threading.Event()

    def ask(name: str) -> None:
        while not done.is_set():
            reply = client.post("/v1/classify", params={"site": name}, files=form(("a", sound)))
            answers[name].append(reply.json())

    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask, name) for name in ("left", "right") * 2]
        try:
            for count in (12, 15):
                calibrate(
                    client,
                    "right",
                    clips(count, first=50),
                    labels="tone 12, tone 2",
                    preset="paper",
                )
                adapters["right"].append(_adapter(client, "right"))
        finally:
            done.set()
        for future in asking:
            future.result()
    embedding = client.post("/v1/embeddings", files=form(("a", sound))).json()["results"][0]
    row = np.array(embedding["embedding"], np.float32)[None]
    for name, replies in answers.items():
        assert len(replies) > 3
        allowed = [round(float(a.scores(row).max()), 6) for a in adapters[name]]
        assert len(set(allowed)) == len(adapters[name])
        for reply in replies:
            assert reply["site"] == name
            assert reply["labels"] == list(adapters[name][0].labels)
            assert min(abs(reply["results"][0]["score"] - score) for score in allowed) < 2e-6


def test_what_a_killed_service_left_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, new, used = (tmp_path / f"prism-sites-{name}" for name in ("killed", "new", "used"))
    for folder in (killed, new, used):
        folder.mkdir()
        (folder / ".lock").touch()
    (killed / "a.safetensors").touch()
    for folder in (killed, used):
        os.utime(folder, (0, 0))
    with (used / ".lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        store = SiteStore(None)
    assert {path.name for path in tmp_path.iterdir()} - {store.folder.name} == {
        "prism-sites-new",
        "prism-sites-used",
    }
    store.close()
    (tmp_path / "store/.work-left").mkdir(parents=True)
    kept = SiteStore(tmp_path / "store")
    with kept.work_folder() as folder:
        assert [path.name for path in kept.folder.glob(".work-*")] == [Path(folder).name]
    kept.close()


def _adapter(client, name: str) -> Adapter:
    return client.app.state.service.sites.get(name).adapter

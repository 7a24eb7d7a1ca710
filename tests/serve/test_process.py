"""A real ``prism serve``: how it starts, how it ends, and what it does not lose."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from prism_audio.model.adapter import Adapter
from tests.helpers.bands import RATE, tone
from tests.helpers.processes import Served
from tests.helpers.service import calibrate, clip, clips, finished, form


def test_sigterm_under_load_answers_what_was_accepted_and_refuses_the_rest(prism, tmp_path):
    """Twelve clients and a calibration, a signal in the middle, exit code 0."""
    store = tmp_path / "store"
    with Served(prism, "--store", store, BANDS_PAUSE="0.2") as served:
        outcomes: Counter[tuple[bool, str]] = Counter()  # (asked after the signal, what came of it)
        began, signalled, end = threading.Event(), threading.Event(), threading.Event()
        numbers = count()  # a sound that was heard before would be answered at once

        def ask() -> None:
            while not end.is_set():
                late, sound = signalled.is_set(), form(("a.wav", clip(7, next(numbers))))
                try:
                    answer = httpx.post(f"{served.url}/v1/classify", files=sound, timeout=60)
                except httpx.HTTPError as error:
                    outcomes[late, type(error).__name__] += 1
                    return
                outcomes[late, str(answer.status_code)] += 1
                if answer.status_code == 200:
                    assert answer.json()["results"][0]["label"] == "tone 7"
                    began.set()

        with ThreadPoolExecutor(12) as threads:
            asking = [threads.submit(ask) for _ in range(12)]
            assert began.wait(60)
            job = httpx.post(
                f"{served.url}/v1/calibrate", params={"site": "yard"}, files=form(*clips(2))
            )
            assert job.status_code == 202
            before = outcomes[False, "200"]
            signalled.set()
            served.process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 60
            while not outcomes[True, "503"] and time.monotonic() < deadline:
                time.sleep(0.02)
            health = httpx.get(f"{served.url}/healthz")
            done = prism.finish(served.process)
            end.set()
            for future in asking:
                future.result()
    assert done.returncode == 0, done.stderr
    assert "all accepted work is done" in done.stderr
    assert (health.status_code, health.json()["status"]) == (503, "stopping")
    assert outcomes[False, "200"] > before  # what was inside when the signal came
    assert outcomes[True, "503"] > 0
    for (late, what), times in outcomes.items():
        # Once the port is closed there is no answer at all; before the signal there always is.
        assert what in ("200", "503") or late, (what, times)
    assert Adapter.load(store / "yard.safetensors").facts.N == 6


def test_a_calibration_in_its_own_process_is_that_of_the_command(prism, tmp_path):
    folder = tmp_path / "sounds"
    folder.mkdir()
    for name, data in clips(12):
        (folder / name).write_bytes(data)
    labels = "tone 2, tone 7, tone 12"
    made = tmp_path / "made.safetensors"
    done = prism("calibrate", folder, "-l", labels, "--encoder", "bands", "-o", made)
    assert done.returncode == 0, done.stderr
    store = tmp_path / "store"
    with (
        Served(prism, "--store", store) as served,
        httpx.Client(base_url=served.url, timeout=60) as client,
    ):
        job = calibrate(client, "yard", clips(12))
        stopped = served.stop()
    assert stopped.returncode == 0
    by_service, by_command = Adapter.load(store / "yard.safetensors"), Adapter.load(made)
    assert (by_service.W == by_command.W).all()
    assert job["result"]["site"]["verdict"] == by_command.facts.verdict
    assert by_service.facts.classes == by_command.facts.classes


def test_a_calibration_that_cannot_be_stored_fails_and_the_service_goes_on(prism, tmp_path):
    store = tmp_path / "store"
    with (
        Served(prism, "--store", store) as served,
        httpx.Client(base_url=served.url, timeout=60) as client,
    ):
        shutil.rmtree(store)
        store.write_text("no folder")
        job = calibrate(client, "yard", clips(2))
        assert (job["state"], job["error"]["code"]) == ("failed", "calibration_failed")
        assert "cannot write" in job["error"]["detail"]
        assert client.get("/v1/sites/yard").status_code == 404
        assert client.get("/healthz").json()["status"] == "ok"


def test_a_second_signal_ends_it_at_once(prism):
    with Served(prism, BANDS_PAUSE="5") as served, ThreadPoolExecutor(1) as threads:
        reply = threads.submit(
            httpx.post, f"{served.url}/v1/classify", files=form(("a.wav", clip(7)))
        )
        time.sleep(1)
        served.process.send_signal(signal.SIGINT)
        while httpx.get(f"{served.url}/healthz").json()["status"] != "stopping":
            time.sleep(0.05)
        served.process.send_signal(signal.SIGINT)
        done = prism.finish(served.process)
        with pytest.raises(httpx.HTTPError):
            reply.result()
    assert done.returncode == 1
    assert "stopped at once" in done.stderr


def test_it_prints_where_it_listens_and_what_is_open(prism, tmp_path):
    with Served(prism) as served:
        assert served.about["sites"] == ["default"]
        assert served.url.startswith("http://127.0.0.1:")
        assert "--store FOLDER keeps them" in served.stop().stderr
    with Served(prism, "--host", "0.0.0.0", "--store", tmp_path) as served:
        link, _, token = served.about["url"].partition("#token=")
        assert len(token) >= 16
        local = link.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{local}v1/sites").status_code == 401
        shown = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{local}v1/sites", headers=shown).status_code == 200
        assert token in served.stop().stderr
    with Served(prism, "--host", "0.0.0.0", PRISM_TOKEN="secret") as served:
        assert (
            httpx.get(served.url.replace("0.0.0.0", "127.0.0.1") + "/v1/sites").status_code == 401
        )
        done = served.stop()
    assert "warning" not in done.stderr
    assert "secret" not in done.stderr


def test_wrong_usage_is_told_before_anything_starts(prism, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        wrong = [
            (("--port", port), "choose another --port"),
            (("--host", "not-an-address.invalid"), "cannot listen"),
            (("--adapter", tmp_path / "no.safetensors"), "cannot read"),
            (("--adapter", "a", "--labels", "b"), "brings its own labels"),
            (("--token", ""), "the token is empty"),
            (("--labels", "x, X"), "twice"),
        ]
        for arguments, said in wrong:
            call = arguments if "--port" in arguments else (*arguments, "--port", 0)
            done = prism("serve", "--encoder", "bands", *call)
            assert (done.returncode, done.stdout) == (2, ""), done
            assert said in " ".join(done.stderr.split())


def test_a_body_that_never_ends_is_cut_off(prism):
    """A client that sends its headers and then nothing does not keep its place."""
    with Served(prism, "--timeout", 1, "--queue", 1) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as slow:
            slow.sendall(
                b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n"
                b"Content-Type: application/octet-stream\r\n\r\nabc"
            )
            assert b" 408 " in slow.recv(4096)
        answer = httpx.post(f"{served.url}/v1/classify", files=form(("a.wav", clip(7))))
        assert answer.status_code == 200


def test_half_sent_requests_are_closed_and_others_notice_nothing(prism):
    """Hundreds of connections that never finish their headers."""
    with Served(prism) as served:
        host, port = served.url.removeprefix("http://").split(":")
        slow = [socket.create_connection((host, int(port)), timeout=40) for _ in range(300)]
        for number, connection in enumerate(slow):
            if number % 3:  # a third of them says nothing at all
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        for _ in range(5):
            began = time.monotonic()
            answer = httpx.post(f"{served.url}/v1/classify", files=form(("a.wav", clip(7))))
            assert answer.status_code == 200
            assert time.monotonic() - began < 5
        began = time.monotonic()
        assert all(connection.recv(100) == b"" for connection in slow)
        assert time.monotonic() - began < 30
        for connection in slow:
            connection.close()
        with httpx.Client(base_url=served.url) as client:  # a kept connection is not cut
            assert client.get("/healthz").status_code == 200
            time.sleep(0.2)
            assert client.get("/healthz").status_code == 200


def test_the_log_shows_requests(prism):
    with Served(prism, "--log-level", "info", "--log-format", "json") as served:
        id = httpx.get(f"{served.url}/v1/sites", headers={"X-Request-ID": "abc-1"}).headers
        assert id["x-request-id"] == "abc-1"
        lines = served.stop().stderr.splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    (line,) = [line for line in found if line["logger"] == "prism_audio.access"]
    assert (line["message"], line["status"], line["request"]) == ("GET /v1/sites", 200, "abc-1")


def test_a_large_body_that_is_refused_still_gets_its_reason(prism):
    with Served(prism, "--max-mb", 1) as served:
        for size in (3 * 2**20, 40 * 2**20):
            try:
                answer = httpx.post(
                    f"{served.url}/v1/classify", files=form(("a.wav", bytes(size))), timeout=30
                )
            except httpx.WriteError:  # too much to be read and dropped: the connection is cut
                assert size > 16 * 2**20
                continue
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert httpx.get(f"{served.url}/healthz").status_code == 200


def test_live_sound_over_a_real_socket(prism):
    with Served(prism) as served:
        address = served.url.replace("http", "ws") + f"/v1/live?rate={RATE}"
        sound = tone(7, 1.0, 1).astype("<f4").tobytes()
        with connect(address) as gone:
            gone.recv()
            gone.send(sound)
            gone.socket.close()  # without a word
        with connect(address) as live:
            assert json.loads(live.recv())["type"] == "ready"
            for at in range(0, len(sound), 5000):
                live.send(sound[at : at + 5000])
            live.send("end")
            messages = [json.loads(message) for message in live]
            # A stream too short to know its background has its events at the end.
            kinds = ["window", "window", "window", "begin", "end"]
            assert [message["type"] for message in messages] == kinds
            assert {message["label"] for message in messages} == {"tone 7"}
            assert live.close_code == 1000
        with connect(address) as live:
            live.recv()
            served.process.send_signal(signal.SIGTERM)
            assert json.loads(live.recv())["code"] == "stopping"
            with pytest.raises(ConnectionClosed):
                live.recv()
            assert live.close_code == 1001
        done = prism.finish(served.process)
    assert done.returncode == 0, done.stderr


def test_jobs_outlive_a_client_that_does_not_wait(prism, tmp_path):
    with Served(prism, "--store", tmp_path / "store") as served:
        url = f"{served.url}/v1/calibrate?site=yard"
        job = httpx.post(url, files=form(*clips(3))).json()
        with httpx.stream("GET", served.url + job["events"]) as stream:
            next(stream.iter_text())  # and goes away
        with httpx.Client(base_url=served.url) as client:
            assert finished(client, job["url"])["state"] == "done"

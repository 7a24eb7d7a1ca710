"""How much a client may ask for: size, count, duration, time, and how many at once."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest

from prism_audio.serve.errors import ApiError
from prism_audio.serve.plain_bodies import receive_raw
from prism_audio.serve.settings import Limits
from prism_audio.serve.uploads import readable_name
from tests.helpers.bands import BandEncoder, tone
from tests.helpers.service import clip, clips, finished, form, wav

FORM = {"Content-Type": "multipart/form-data; boundary=cut"}


class Held(BandEncoder):
    """Embeds nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.go = threading.Event(), threading.Event()

    def embed_windows(self, windows):
        self.entered.set()
        self.go.wait(20)
        return super().embed_windows(windows)


def code(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def part(name: str, data: bytes, field: str = "files") -> bytes:
    head = f'--cut\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
    return head.encode() + data + b"\r\n"


def test_a_body_that_says_it_is_too_large_is_not_read(serve):
    client = serve(bytes=10_000)
    read = []

    def body():
        for _ in range(100):
            read.append(1)
            yield bytes(1000)

    headers = {**FORM, "Content-Length": "100000"}
    answer = client.post("/v1/classify", content=body(), headers=headers)
    assert code(answer) == (413, "too_large")
    assert "10000 bytes" in answer.json()["detail"]


def test_a_body_that_does_not_say_so_is_counted(serve):
    client = serve(bytes=10_000)
    data = part("a.wav", bytes(50_000)) + b"--cut--\r\n"
    chunks = (data[at : at + 1000] for at in range(0, len(data), 1000))
    assert code(client.post("/v1/classify", content=chunks, headers=FORM)) == (413, "too_large")
    raw = client.post(
        "/v1/classify",
        content=iter([bytes(6000)] * 2),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert code(raw) == (413, "too_large")


def test_uploads_leave_room_on_the_disk(serve, monkeypatch):
    client = serve()
    large = clip(2) + bytes(2 << 20)  # more than stays in memory
    assert client.post("/v1/classify", files=form(("a.wav", large))).status_code == 200
    usage = shutil.disk_usage(tempfile.gettempdir())._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert code(client.post("/v1/classify", files=form(("a.wav", large)))) == (503, "disk_full")
    assert client.post("/v1/classify", files=form(("b.wav", clip(2)))).status_code == 200


def test_too_many_recordings_are_refused(serve):
    client = serve(files=2)
    assert client.post("/v1/classify", files=form(*clips(1)[:2])).status_code == 200
    assert code(client.post("/v1/classify", files=form(*clips(1)))) == (413, "too_many_files")


def test_a_recording_may_be_as_long_as_said_and_no_longer(serve):
    client = serve(seconds=2.0)
    files = form(("fits.wav", wav(tone(2, 2.0, 0))), ("long.wav", wav(tone(2, 2.1, 0))))
    fits, long = client.post("/v1/classify", files=files).json()["results"]
    assert fits["error"] is None
    assert (long["file"], long["error"]["code"]) == ("long.wav", "too_long")


def test_the_length_is_heard_not_read_from_the_header(serve):
    """A header that does not say how long it is, before half a minute of sound."""
    client = serve(seconds=5.0)
    data = bytearray(wav(np.zeros(30 * 8000), subtype="PCM_16", form="FLAC"))
    # Total samples of STREAMINFO: 36 bits that end 26 bytes into the file; 0 is "unknown".
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    answer = client.post("/v1/classify", files=form(("short.flac", bytes(data))))
    assert code(answer) == (422, "too_long")


def test_a_request_that_takes_too_long_is_told_so(serve):
    encoder = Held()
    client = serve(encoder=encoder, request_seconds=0.3)
    with ThreadPoolExecutor(1) as threads:
        reply = threads.submit(
            client.post, "/v1/classify", files=form(*((f"{i}.wav", clip(2, i)) for i in range(6)))
        )
        assert encoder.entered.wait(10)
        threading.Event().wait(0.5)
        encoder.go.set()
        assert code(reply.result()) == (408, "too_slow")


def test_more_requests_than_places_are_told_to_come_again(serve):
    encoder = Held()
    client = serve(encoder=encoder, requests=2)
    with ThreadPoolExecutor(2) as threads:
        inside = [
            threads.submit(client.post, "/v1/classify", files=form(("a.wav", clip(2))))
            for _ in range(2)
        ]
        service = client.app.state.service
        while service.requests.active < 2:
            pass
        refused = client.post("/v1/classify", files=form(("a.wav", clip(2))))
        assert code(refused) == (429, "busy")
        assert int(refused.headers["retry-after"]) > 0
        assert client.get("/healthz").json()["status"] == "ok"
        encoder.go.set()
        assert [reply.result().status_code for reply in inside] == [200, 200]
    assert client.post("/v1/classify", files=form(("a.wav", clip(2)))).status_code == 200


def test_more_calibrations_than_may_wait_are_told_to_come_again(serve):
    encoder = Held()
    client = serve(encoder=encoder, jobs=1)
    urls = []
    for name in ("a", "b"):
        answer = client.post("/v1/calibrate", params={"site": name}, files=form(*clips(1)))
        assert answer.status_code == 202
        urls.append(answer.json()["url"])
    refused = client.post("/v1/calibrate", params={"site": "c"}, files=form(*clips(1)))
    assert code(refused) == (429, "busy")
    assert int(refused.headers["retry-after"]) > 0
    assert client.get(urls[1]).json()["state"] == "waiting"
    encoder.go.set()
    assert [finished(client, url)["state"] for url in urls] == ["done", "done"]
    again = client.post("/v1/calibrate", params={"site": "c"}, files=form(*clips(1)))
    assert again.status_code == 202


def test_a_refused_calibration_keeps_no_place(serve):
    client = serve(jobs=1)
    for _ in range(5):
        answer = client.post("/v1/calibrate", params={"site": "a"}, files={"other": b"x"})
        assert answer.status_code == 422
    assert client.app.state.service.jobs.waiting == 0


def test_one_client_cannot_take_all(serve):
    encoder = Held()
    client = serve(encoder=encoder, client_requests=2)
    with ThreadPoolExecutor(2) as threads:
        files = form(("a.wav", clip(2)))
        asking = [threads.submit(client.post, "/v1/classify", files=files) for _ in range(2)]
        while client.app.state.service.requests.active < 2:
            pass
        refused = client.get("/v1/sites")
        encoder.go.set()
        assert [reply.result().status_code for reply in asking] == [200, 200]
    assert code(refused) == (429, "busy")
    assert client.get("/v1/sites").status_code == 200


class Stalling:
    """A request whose body stops after its first bytes."""

    headers: ClassVar[dict[str, str]] = {}

    async def stream(self):
        yield b"first"
        await asyncio.sleep(20)


@pytest.mark.parametrize(
    ("idle", "seconds", "reason"), [(0.05, 10, "no byte"), (10, 0.05, "longer than 0.05 s")]
)
def test_a_body_that_stalls_is_given_up(monkeypatch, idle, seconds, reason):
    monkeypatch.setattr("prism_audio.serve.uploads.BODY_IDLE_SECONDS", idle)
    with pytest.raises(ApiError, match=reason) as refusal:
        asyncio.run(receive_raw(Stalling(), Limits(request_seconds=seconds)))
    assert (refusal.value.status, refusal.value.code) == (408, "too_slow")


def test_head_is_get_without_a_body(client):
    for path in ("/v1/sites", "/healthz", "/readyz", "/", "/openapi.json"):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-length"] == got.headers["content-length"]


def test_once_stopping_nothing_new_is_taken(client):
    service = client.app.state.service
    service.requests.stopping = True
    answers = [
        client.post("/v1/classify", files=form(("a.wav", clip(2)))),
        client.post("/v1/calibrate", params={"site": "a"}, files=form(("a.wav", clip(2)))),
        client.delete("/v1/sites/default"),
    ]
    assert {code(answer) for answer in answers} == {(503, "stopping")}
    assert answers[0].headers["connection"] == "close"
    assert client.get("/healthz").json()["status"] == "stopping"
    assert client.get("/v1/sites").status_code == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"--cut--\r\n", (422, "no_files")),
        (b"", (400, "bad_multipart")),
        (part("a.wav", b"x"), (400, "bad_multipart")),
        (part("a.wav", b"x")[:-9], (400, "bad_multipart")),
        (b"nothing like a form", (400, "bad_multipart")),
        (part("a.wav", b"x", field="file") + b"--cut--\r\n", (422, "unknown_field")),
        (part("", b"x") + b"--cut--\r\n", (422, "no_files")),
        (b"--cut\r\n\r\nx\r\n--cut--\r\n", (422, "unknown_field")),
        (b"--cut\r\n" + b"X: " + b"y" * 99_999 + b"\r\n\r\n", (400, "bad_multipart")),
        (b"--cut\r\n" + b"X: y\r\n" * 999 + b"\r\n", (400, "bad_multipart")),
    ],
)
def test_a_form_that_is_none_is_refused(client, body, expected):
    assert code(client.post("/v1/classify", content=body, headers=FORM)) == expected


@pytest.mark.parametrize("kind", [None, "text/plain", "text/csv", "multipart/mixed"])
def test_a_body_of_another_type_is_refused(client, kind):
    headers = {"Content-Type": kind} if kind else {}
    assert code(client.post("/v1/classify", content=b"x", headers=headers)) == (
        415,
        "unsupported_type",
    )


def test_a_form_without_a_boundary_is_refused(client):
    headers = {"Content-Type": "multipart/form-data"}
    assert code(client.post("/v1/classify", content=b"x", headers=headers)) == (
        400,
        "bad_multipart",
    )


def test_parts_may_be_cut_anywhere(client):
    """The chunks a body comes in change nothing."""
    body = part("a.wav", clip(2)) + part("b.wav", clip(12)) + b"--cut--\r\n"
    whole = client.post("/v1/classify", content=body, headers=FORM).json()
    for size in (1, 7, 4096):
        chunks = (body[at : at + size] for at in range(0, len(body), size))
        assert client.post("/v1/classify", content=chunks, headers=FORM).json() == whole


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "../../etc/passwd"),
        ("a\x00\x1b[31mb\r\nc", "a[31mbc"),
        ("x" * 400, "x" * 255),
        ("\u202egpj.wav", "gpj.wav"),
        ("Straße 東京.wav", "Straße 東京.wav"),
    ],
)
def test_a_clients_name_is_text_and_nothing_else(given, shown):
    assert readable_name(given) == shown


def test_nothing_is_written_under_a_clients_name(client, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    names = ["escaped.wav", "../escaped.wav", str(tmp_path / "escaped.wav"), "con"]
    answer = client.post("/v1/classify", files=form(*((name, clip(2)) for name in names)))
    assert [result["file"] for result in answer.json()["results"]] == names
    assert not [
        path for path in tmp_path.rglob("*") if "escaped" in path.name or path.name == "con"
    ]

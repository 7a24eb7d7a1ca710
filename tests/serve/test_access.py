"""Who may talk to the service."""

from __future__ import annotations

import base64

import pytest
from starlette.websockets import WebSocketDisconnect

from prism_audio.serve.settings import is_loopback
from tests.helpers.service import clip, form

LIVE = "ws://localhost/v1/live"
TOKEN = "a long secret"
SHOWN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def guarded(serve):
    return serve(token=TOKEN, host="0.0.0.0")


@pytest.mark.parametrize("path", ["/v1/sites", "/v1/limits", "/metrics", "/openapi.json", "/v1/no"])
def test_all_but_the_page_wants_the_token(guarded, path):
    answer = guarded.get(path)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.get(path, headers=SHOWN).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/healthz", "/", "/page/no-such-file.js"])
def test_the_page_and_the_health_do_not(guarded, path):
    assert guarded.get(path).status_code in (200, 404)


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer a", "Basic a long secret", "Bearer ü"])
def test_a_wrong_token_is_refused(guarded, given):
    headers = {"Authorization": given.encode()}
    assert guarded.get("/v1/sites", headers=headers).status_code == 401


def test_posting_wants_the_token_too(guarded):
    files = form(("a.wav", clip(2)))
    assert guarded.post("/v1/classify", files=files).status_code == 401
    assert guarded.post("/v1/classify", files=files, headers=SHOWN).status_code == 200


def test_a_token_in_the_address_is_never_taken(guarded):
    for path in ("/v1/sites", "/v1/jobs/x/events"):
        assert guarded.get(path, params={"token": TOKEN}).status_code == 401
    with (
        pytest.raises(WebSocketDisconnect),
        guarded.websocket_connect(f"{LIVE}?token={TOKEN}&rate=8000"),
    ):
        pass


@pytest.mark.parametrize("as_header", [True, False])
def test_a_live_stream_shows_the_token_as_a_header_or_as_a_subprotocol(guarded, as_header):
    def connect(token: str):
        if as_header:
            headers = {"Authorization": f"Bearer {token}"}
            return guarded.websocket_connect(f"{LIVE}?rate=8000", headers=headers)
        text = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
        offers = ["prism", f"bearer.{text}"]
        return guarded.websocket_connect(f"{LIVE}?rate=8000", subprotocols=offers)

    with connect(TOKEN) as socket:
        assert socket.receive_json()["type"] == "ready"
        assert as_header or socket.accepted_subprotocol == "prism"
    for wrong in ("", "no", TOKEN + "x"):
        with pytest.raises(WebSocketDisconnect), connect(wrong):
            pass


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://["]
)
def test_a_page_of_another_origin_is_refused(client, origin):
    headers = {"Origin": origin}
    answer = client.post("/v1/classify", files=form(("a.wav", clip(2))), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin")
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(LIVE, headers=headers):
        pass


def test_the_services_own_page_is_not(client):
    headers = {"Origin": "http://localhost"}
    answer = client.post("/v1/classify", files=form(("a.wav", clip(2))), headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.1", "["])
def test_on_loopback_a_foreign_name_is_refused(client, host):
    answer = client.get("/v1/sites", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_host")


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:80", "127.3.2.1:1"])
def test_on_loopback_its_own_names_are_not(client, host):
    assert client.get("/v1/sites", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "known"),
    [("192.168.1.1:80", True), ("yard.example", True), ("evil.example", False), ("", False)],
)
def test_beyond_loopback_the_host_is_checked_too(serve, host, known):
    client = serve(token=TOKEN, host="0.0.0.0", hosts=("yard.example",))
    answer = client.get("/v1/sites", headers={**SHOWN, "Host": host})
    assert answer.status_code == (200 if known else 403)


def test_a_proxy_is_believed_by_choice(serve):
    headers = {"X-Forwarded-Host": "yard.example", "Origin": "https://yard.example"}
    assert serve(hosts=("yard.example",)).get("/v1/sites", headers=headers).status_code == 403
    behind = serve(hosts=("yard.example",), proxy=True)
    assert behind.get("/v1/sites", headers=headers).status_code == 200
    other = {**headers, "X-Forwarded-Host": "evil.example"}
    assert behind.get("/v1/sites", headers=other).status_code == 403


@pytest.mark.parametrize("path", ["/v1/sites", "/prism/v1/sites"])
def test_a_root_path_is_taken_off(serve, path):
    client = serve(root_path="/prism", token=TOKEN)
    assert client.get(path).status_code == 401
    assert client.get(path, headers=SHOWN).status_code == 200
    assert client.get(path.replace("v1/sites", "healthz")).status_code == 200


@pytest.mark.parametrize(
    ("host", "yes"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_is_told_from_the_rest(host, yes):
    assert is_loopback(host) is yes


def test_every_answer_carries_the_headers_that_keep_a_browser_safe(client):
    for path in ("/v1/sites", "/v1/no", "/healthz"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_document_says_that_a_token_is_wanted(guarded, client):
    document = guarded.get("/openapi.json", headers=SHOWN).json()
    assert document["security"] == [{"token": []}]
    assert "security" not in client.get("/openapi.json").json()

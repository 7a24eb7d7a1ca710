"""Labels for a stream, over the WebSocket."""

from __future__ import annotations

import asyncio
import threading
import time

import numpy as np
import pytest
from starlette.websockets import WebSocketDisconnect

from prism_audio.serve import live_sources
from prism_audio.serve.byte_pipe import BytePipe
from prism_audio.serve.errors import ApiError
from tests.helpers.bands import RATE, tone
from tests.helpers.service import calibrate, clips, form, wav

LIVE = "ws://localhost/v1/live"  # the client would say "testserver" otherwise
QUERY = f"{LIVE}?rate={RATE}&format=f32le"


def heard(socket) -> list[dict]:
    """All messages until the end."""
    messages: list[dict] = []
    while True:
        try:
            messages.append(socket.receive_json())
        except WebSocketDisconnect as closed:
            return [*messages, {"type": "closed", "code": closed.code}]


def of_type(messages: list[dict], kind: str) -> list[dict]:
    """The messages of one type, without it."""
    return [
        {name: value for name, value in message.items() if name != "type"}
        for message in messages
        if message["type"] == kind
    ]


def test_a_stream_gets_the_labels_of_its_windows(client):
    sound = np.concatenate([tone(2, 1.0, 1), tone(12, 1.0, 2)]).astype("<f4")
    whole = client.post(
        "/v1/classify",
        params={"timeline": "true"},
        files=form(("a.wav", wav(sound, subtype="FLOAT"))),
    ).json()["results"][0]["timeline"]
    data = sound.tobytes()
    with client.websocket_connect(QUERY) as socket:
        assert socket.receive_json() == {"type": "ready", "window": 0.5, "hop": 0.25}
        for at in range(0, len(data), 999):
            socket.send_bytes(data[at : at + 999])
        socket.send_text("end")
        *messages, last = heard(socket)
    assert last["code"] == 1000
    for window, same in zip(of_type(messages, "window"), whole, strict=True):
        assert window["label"] == same["label"]
        assert window == pytest.approx(
            same | {k: window[k] for k in ("label", "zero_shot", "probability")}, abs=2e-6
        )
        assert window["probability"] is None
    assert [event["label"] for event in of_type(messages, "begin")] == ["tone 2", "tone 12"]
    first, second = of_type(messages, "end")
    assert (first["start"], first["end"], second["end"]) == (0, second["start"], 2.0)
    assert first["end"] == pytest.approx(1.0, abs=0.3)


def test_an_adapter_of_clips_hears_as_much_as_a_clip(client):
    calibrate(client, "yard", clips(20))  # of 1.2 s
    with client.websocket_connect(f"{QUERY}&site=yard") as socket:
        ready = socket.receive_json()
        assert ready["window"] == pytest.approx(1.25, abs=0.13)
        socket.send_bytes(tone(7, 2.0, 1).astype("<f4").tobytes())
        socket.send_text("end")
        *messages, last = heard(socket)
    windows = of_type(messages, "window")
    assert {window["label"] for window in windows} == {"tone 7"}
    assert windows[0]["end"] - windows[0]["start"] == pytest.approx(ready["window"])
    assert all(0 < window["probability"] <= 1 for window in windows)
    assert last["code"] == 1000


def test_several_listen_to_one_stream(client):
    at = f"{LIVE}/gate"
    sound = np.concatenate([tone(2, 1.0, 1), tone(12, 1.0, 2)]).astype("<f4").tobytes()
    with client.websocket_connect(f"{QUERY}&source=gate") as sender:
        ready = sender.receive_json()
        with (
            client.websocket_connect(at) as first,
            client.websocket_connect(at) as second,
            client.websocket_connect(at) as leaving,
        ):
            assert [first.receive_json(), second.receive_json(), leaving.receive_json()] == 3 * [
                ready
            ]
            leaving.close()
            with client.websocket_connect(f"{QUERY}&source=gate") as other:
                assert other.receive_json()["code"] == "source_taken"
            sender.send_bytes(sound)
            sender.send_text("end")
            told = heard(sender)
            assert len(of_type(told, "window")) == 7
            assert heard(first) == heard(second) == told
    with client.websocket_connect(at) as late:
        assert late.receive_json()["code"] == "unknown_source"
        assert heard(late) == [{"type": "closed", "code": 1008}]


def test_one_who_does_not_read_is_let_go(monkeypatch):
    monkeypatch.setattr(live_sources, "MOST_WAITING", 3)
    monkeypatch.setattr(live_sources, "MOST_LISTENERS", 2)

    async def run() -> tuple[list[dict], str, str]:
        with live_sources.LiveSources().open("gate", {"number": 0}) as source:
            reads, sleeps, third = source.messages(), source.messages(), source.messages()
            seen = [await anext(reads)]
            await anext(sleeps)
            with pytest.raises(ApiError) as full:
                await anext(third)
            for number in range(1, 6):
                source.tell({"number": number})
                seen.append(await anext(reads))
            with pytest.raises(ApiError) as slow:
                _ = [message async for message in sleeps]
            return seen, full.value.code, slow.value.code

    seen, full, slow = asyncio.run(run())
    assert [message["number"] for message in seen] == [0, 1, 2, 3, 4, 5]
    assert (full, slow) == ("busy", "too_slow")


def test_labels_may_be_replaced(client):
    with client.websocket_connect(f"{QUERY}&labels=tone 3, tone 12") as socket:
        socket.receive_json()
        socket.send_bytes(tone(12, 1.0, 1).astype("<f4").tobytes())
        assert socket.receive_json()["label"] == "tone 12"


def test_a_threshold_makes_sounds_unknown(client):
    with client.websocket_connect(f"{QUERY}&threshold=1") as socket:
        socket.receive_json()
        socket.send_bytes(tone(12, 1.0, 1).astype("<f4").tobytes())
        socket.send_text("end")
        *messages, _ = heard(socket)
    assert {window["label"] for window in of_type(messages, "window")} == {"unknown"}
    assert not of_type(messages, "begin")


def test_a_stream_follows_a_recalibration(client):
    calibrate(client, "yard", clips(12), labels="tone 2, tone 7", preset="paper")
    with client.websocket_connect(f"{QUERY}&site=yard") as socket:
        socket.receive_json()
        socket.send_bytes(tone(7, 2.0, 1).astype("<f4").tobytes())
        assert socket.receive_json()["label"] == "tone 7"
        calibrate(client, "yard", clips(12), labels="tone 12, tone 3", preset="paper")
        socket.send_bytes(tone(12, 2.0, 1).astype("<f4").tobytes())
        socket.send_text("end")
        *messages, _ = heard(socket)
    (switch,) = of_type(messages, "switch")
    assert switch["labels"] == ["tone 12", "tone 3"]
    assert of_type(messages, "window")[-1]["label"] == "tone 12"


def test_sound_unlike_the_calibration_is_reported(client, monkeypatch):
    monkeypatch.setattr("prism_audio.labelling.drift.PATIENCE", 1.0)
    calibrate(client, "yard", clips(20))
    with client.websocket_connect(f"{QUERY}&site=yard") as socket:
        socket.receive_json()
        sound = np.random.default_rng(0).standard_normal(6 * RATE) * 0.3
        socket.send_bytes(sound.astype("<f4").tobytes())
        socket.send_text("end")
        *messages, _ = heard(socket)
    (drift,) = of_type(messages, "drift")
    assert drift["away"]
    assert drift["distance"] > 0.5


def test_a_silent_client_is_told_and_let_go(client, monkeypatch):
    monkeypatch.setattr("prism_audio.serve.routes_live.IDLE_SECONDS", 0.3)
    with client.websocket_connect(QUERY) as socket:
        socket.receive_json()
        error, closed = heard(socket)
    assert (error["code"], closed["code"]) == ("idle", 1008)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("rate=5", "invalid_parameter"),
        ("rate=x", "invalid_parameter"),
        ("rate=" + "9" * 5000, "invalid_parameter"),
        ("format=mp3", "invalid_parameter"),
        ("channels=0", "invalid_parameter"),
        ("channels=99", "invalid_parameter"),
        ("threshold=nan", "invalid_parameter"),
        ("confirm=0", "invalid_parameter"),
        ("token=x", "unknown_parameter"),
        ("site=no", "unknown_site"),
        ("labels=,", "bad_labels"),
    ],
)
def test_a_wrong_parameter_is_told_and_ends_it(client, query, code):
    with client.websocket_connect(f"{LIVE}?{query}") as socket:
        error, closed = heard(socket)
    assert (error["type"], error["code"], closed["code"]) == ("error", code, 1008)


def test_samples_that_are_no_sound_are_told_and_end_it(client):
    with client.websocket_connect(QUERY) as socket:
        socket.receive_json()
        socket.send_bytes(np.full(2000, np.nan, "<f4").tobytes())
        error, closed = heard(socket)
    assert (error["code"], closed["code"]) == ("bad_audio", 1008)
    assert "--" not in error["message"]
    assert "standard input" not in error["message"]


def test_a_client_that_goes_away_leaves_nothing_behind(client):
    service = client.app.state.service
    with client.websocket_connect(QUERY) as socket:
        socket.receive_json()
        assert service.streams.active == 1
        socket.send_bytes(bytes(100))

    def left() -> list[object]:
        threads = [thread for thread in threading.enumerate() if thread.name == "live"]
        return [*threads, *service.pipes] + [service] * service.streams.active

    deadline = time.monotonic() + 10
    while left() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left()


def test_one_stream_too_many_is_refused(serve):
    client = serve(live=1)
    with client.websocket_connect(QUERY) as first:
        first.receive_json()
        with client.websocket_connect(QUERY) as second:
            error, closed = heard(second)
    assert (error["code"], closed["code"]) == ("busy", 1013)


def test_a_stop_ends_streams_after_what_they_sent(client):
    service = client.app.state.service
    with client.websocket_connect(QUERY) as socket:
        socket.receive_json()
        socket.send_bytes(tone(7, 0.6, 1).astype("<f4").tobytes())
        assert socket.receive_json()["type"] == "window"
        client.portal.call(service.drain)
        *_, error, closed = heard(socket)
    assert (error["code"], closed["code"]) == ("stopping", 1001)


def test_a_pipe_gives_what_it_has_and_knows_its_end():
    pipe = BytePipe(4)
    pipe.write(b"abc")
    assert not pipe.full
    pipe.write(b"def")
    assert pipe.full
    assert pipe.read(4) == b"abcd"
    assert pipe.read(4) == b"ef"
    pipe.end()
    assert pipe.read(4) == b""

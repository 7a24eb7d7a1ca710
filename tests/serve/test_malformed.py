"""Two hundred bad uploads against a real service: each is refused with a reason, and it goes on."""

from __future__ import annotations

import httpx
import pytest

from tests.helpers.malformed import bombs, uploads
from tests.helpers.service import clip, form
from tests.serve.conftest import LONGEST

pytest.importorskip("av", reason="without the second decoder fewer kinds of files are tried")

# What the service may grow by: a few decoders at work, not the hours they would decode to.
ROOM = 200 * 2**20


def test_bad_uploads_are_refused_and_nothing_grows(served):
    with httpx.Client(base_url=served.url, timeout=60) as client:
        good = form(("good.wav", clip(7)))
        before = client.post("/v1/classify", files=good).json()
        start = served.peak_bytes
        count = 0
        for name, data in uploads():
            answer = client.post("/v1/classify", files=form((name, data)))
            assert 400 <= answer.status_code < 500, (name, answer.status_code, answer.text[:300])
            error = answer.json()
            assert error["code"] in ("bad_audio", "too_long"), (name, error)
            assert error["file"] == name
            assert len(error["detail"]) > 10, (name, error)
            count += 1
        assert count >= 200
        assert served.peak_bytes - start < ROOM
        assert client.post("/v1/classify", files=good).json() == before
    assert served.process.poll() is None


def test_many_bombs_at_once_are_refused_and_nothing_grows(served):
    with httpx.Client(base_url=served.url, timeout=60) as client:
        start = served.peak_bytes
        answer = client.post("/v1/classify", files=form(*bombs(), ("good.wav", clip(7))))
        assert answer.status_code == 200
        *bad, good = answer.json()["results"]
        assert good["label"] == "tone 7"
        assert {result["error"]["code"] for result in bad} <= {"too_long", "bad_audio"}
        assert sum(f"{LONGEST} s" in result["error"]["message"] for result in bad) > 10
        assert served.peak_bytes - start < ROOM

"""The numbers for Prometheus."""

from __future__ import annotations

import re

from tests.helpers.service import clip, form

LINE = re.compile(r'^([a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (-?[0-9.e+-]+)$')


def parsed(text: str) -> dict[str, float]:
    numbers = {}
    kinds = {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif not line.startswith("#"):
            found = LINE.match(line)
            assert found, line
            family = re.sub(r"_(bucket|sum|count)$", "", found[1])
            assert found[1] in kinds or family in kinds, line
            key = found[1] + (found[2] or "")
            assert key not in numbers
            numbers[key] = float(found[3])
    return numbers


def test_requests_are_counted_by_route_and_status(client):
    client.post("/v1/classify", files=form(("a.wav", clip(2))))
    client.post("/v1/classify", files=form(("a.wav", clip(2))))
    client.post("/v1/classify", files=form(("a.txt", b"no")))
    client.get("/v1/sites/anything-a-client-makes-up")
    client.get("/made/up")
    numbers = parsed(client.get("/metrics").text)
    total = 'prism_requests_total{method="POST",route="/v1/classify",status='
    assert numbers[total + '"200"}'] == 2
    assert numbers[total + '"422"}'] == 1
    assert numbers['prism_request_seconds_count{route="/v1/classify"}'] == 3
    assert numbers["prism_windows_total"] > 0
    assert numbers['prism_recordings_total{site="default"}'] == 2
    assert not any("made" in name for name in numbers)

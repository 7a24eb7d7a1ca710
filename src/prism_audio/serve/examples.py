"""Answers as they look, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

ENCODER = {"id": "concepts", "rate": 16000, "window": 0.975, "hop": 0.48, "dim": 521}
SITE: dict[str, Any] = {
    "name": "street",
    "encoder": ENCODER,
    "labels": ["dog bark", "siren"],
    "verdict": "adapted",
    "reasons": ["20 clips a class, about 2 of 2 classes heard"],
    "weight": 0.96,
    "clips": 40,
    "date": "2026-05-04T09:30:00+00:00",
}
RESULT: dict[str, Any] = {
    "file": "gate.wav",
    "seconds": 5.0,
    "label": "siren",
    "score": 0.41,
    "zero_shot": "dog bark",
    "zero_shot_score": 0.12,
    "probability": 0.87,
    "runner_up": "dog bark",
    "margin": 0.2,
    "top": [{"label": "siren", "score": 0.41}, {"label": "dog bark", "score": 0.21}],
    "unknown": False,
    "error": None,
}
FAILED = {
    "file": "notes.txt",
    "error": {"code": "bad_audio", "message": "its bytes are not those of a wav file"},
}
CLASSIFIED = {
    "site": "street",
    "labels": ["dog bark", "siren"],
    "adapted": True,
    "results": [RESULT, FAILED],
}
EMBEDDED = {
    "encoder": "concepts",
    "fingerprint": "5d0c1f0e",
    "dim": 3,
    "results": [{"file": "gate.wav", "seconds": 5.0, "embedding": [0.6, 0.0, -0.8], "error": None}],
}
ACCEPTED = {
    "job": "0f3a9c1d22b84e67",
    "site": "street",
    "url": "/v1/jobs/0f3a9c1d22b84e67",
    "events": "/v1/jobs/0f3a9c1d22b84e67/events",
}
JOB = {
    "job": "0f3a9c1d22b84e67",
    "site": "street",
    "state": "running",
    "stage": "reading",
    "done": 12,
    "total": 40,
    "seconds_left": 1.4,
    "error": None,
    "result": None,
}
LIMITS = {
    "files": 1000,
    "bytes": 268435456,
    "seconds": 600.0,
    "request_seconds": 120.0,
    "formats": ["flac", "mp3", "ogg", "wav"],
    "pcm": ["s16le", "s32le", "f32le"],
    "labels": 200,
    "rows": 20000,
    "live": 16,
    "sites_pattern": "^[a-z0-9][a-z0-9_-]{0,63}$",
}
METRICS = 'prism_requests_total{method="POST",route="/v1/classify",status="200"} 17\n'
EVENTS = 'event: progress\ndata: {"job": "0f3a9c1d22b84e67", "state": "running", "done": 12}\n\n'


def example(value: Any, kind: str = "application/json") -> dict[str, Any]:
    """A member ``content`` of a response, with one example."""
    return {"content": {kind: {"example": value}}}

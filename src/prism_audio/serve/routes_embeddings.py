"""``/v1/embeddings``: the unit vectors of recordings, without a site."""

from __future__ import annotations

from functools import partial

import numpy as np
from fastapi import FastAPI, Request
from pydantic import Field
from starlette.responses import Response

from prism_audio.serve import parameters
from prism_audio.serve.errors import documented
from prism_audio.serve.routes_classify import answer_each, json_response
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.schemas import FailedRecording, Schema, example
from prism_audio.serve.service import Service


class EmbeddedWindow(Schema):
    """The embedding of a window."""

    start: float
    end: float
    embedding: list[float]


class RecordingEmbedding(Schema):
    """The embedding of a recording: a unit vector."""

    file: str
    row: str | None = Field(description="The id of the embedding.")
    seconds: float | None
    embedding: list[float]
    timeline: list[EmbeddedWindow] | None = None
    error: None = None

    @classmethod
    def of(cls, recording: EmbeddedRecording, timeline: bool) -> RecordingEmbedding:
        """The embedding of a recording, and of its windows where a timeline is wanted."""
        return cls(
            file=recording.file,
            row=recording.row or None,
            seconds=recording.seconds,
            embedding=_numbers(recording.embedding),
            timeline=_windows(recording) if timeline else None,
        )


def _windows(recording: EmbeddedRecording) -> list[EmbeddedWindow]:
    return [
        EmbeddedWindow(
            start=round(float(start), 3), end=round(float(end), 3), embedding=_numbers(row)
        )
        for start, end, row in zip(recording.start, recording.end, recording.windows, strict=True)
    ]


class Embedded(Schema):
    """Embeddings, in the order of the recordings."""

    model_config = example(
        {
            "encoder": "concepts",
            "fingerprint": "5d0c1f0e",
            "dim": 3,
            "results": [
                {
                    "file": "gate.wav",
                    "row": "9b1c2f70a4d35e68f07a1b2c3d4e5f60",
                    "seconds": 5.0,
                    "embedding": [0.6, 0, -0.8],
                    "error": None,
                }
            ],
        }
    )

    encoder: str
    fingerprint: str
    dim: int
    results: list[RecordingEmbedding | FailedRecording]


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route to an application."""

    @app.post(
        "/v1/embeddings",
        summary="Embed recordings",
        tags=["recordings"],
        openapi_extra=parameters.recordings_body(service.encoder.dim),
        response_model=Embedded,
        response_description="One result for each recording, in their order.",
        responses=documented(400, 408, 413, 415, 422, 429, 503),
    )
    async def embed(
        request: Request,
        timeline: parameters.Timeline = False,
        rate: parameters.Rate = 16000,
        format: parameters.Format = "s16le",
        channels: parameters.Channels = 1,
    ) -> Response:
        """Unit vectors of recordings or raw samples, as the encoder gives them, without a site."""
        answer = partial(RecordingEmbedding.of, timeline=timeline)
        results = await answer_each(service, request, (rate, format, channels), answer)
        encoder = service.encoder
        embedded = Embedded(
            encoder=encoder.id, fingerprint=encoder.fingerprint, dim=encoder.dim, results=results
        )
        return await json_response(embedded, large=True)


def _numbers(vector: np.ndarray) -> list[float]:
    """A float32 vector with no more digits than it has."""
    return [float(str(value)) for value in vector]

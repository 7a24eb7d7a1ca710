"""``/v1/classify``: labels for recordings, and what every route that takes recordings does first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fastapi import FastAPI, Request
from pydantic import Field
from starlette.responses import Response

from prism_audio.labelling.labeller import Labeller
from prism_audio.serve import parameters
from prism_audio.serve.errors import ApiError, all_failed, documented
from prism_audio.serve.events import (
    LONGEST_CLIP,
    HeardEvent,
    WindowLabel,
    events_of,
    timeline_of,
)
from prism_audio.serve.plain_bodies import receive_rows, receive_sound
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.schemas import FailedRecording, Schema, example
from prism_audio.serve.service import Service
from prism_audio.serve.uploads import JSON, MULTIPART, PCM, content_type, receive_multipart

Result = TypeVar("Result")


class Scored(Schema):
    """A label and its cosine."""

    label: str
    score: float


class LabelledRecording(Schema):
    """What a site says of a recording."""

    file: str
    row: str | None = Field(
        None, description="The id of its embedding, to be asked again without its sound."
    )
    seconds: float | None
    label: str = Field(description="'unknown' where no class reaches the threshold.")
    score: float = Field(description="Cosine to the label's text, after the correction.")
    zero_shot: str = Field(description="What the encoder alone says.")
    zero_shot_score: float
    probability: float | None = Field(
        description="How likely the label is right; null without a calibration."
    )
    runner_up: str | None
    margin: float | None
    top: list[Scored]
    unknown: bool
    timeline: list[WindowLabel] | None = None
    events: list[HeardEvent] | None = Field(
        None, description="What was heard from when to when, where its windows were looked at."
    )
    warnings: list[str] = Field(
        default_factory=list, description="What is odd about it, such as that it was cut short."
    )
    error: None = None

    @classmethod
    def of(
        cls,
        recording: EmbeddedRecording,
        labeller: Labeller,
        top: int,
        timeline: bool,
        windows: bool | None,
    ) -> LabelledRecording:
        """Label a recording, its windows where a timeline is wanted, and its events if it is long."""
        seconds = recording.seconds
        by_windows = (seconds or 0) > LONGEST_CLIP if windows is None else windows
        answer = labeller.answer_one(recording.embedding, top).rounded()
        return cls(
            file=recording.file,
            row=recording.row or None,
            seconds=seconds,
            label=answer.label,
            score=answer.score,
            zero_shot=answer.zero_shot,
            zero_shot_score=answer.zero_shot_score,
            probability=answer.probability,
            runner_up=answer.runner_up,
            margin=answer.margin,
            top=[Scored(label=label, score=score) for label, score in answer.top],
            unknown=not answer.convinced,
            timeline=timeline_of(recording, labeller) if timeline else None,
            events=events_of(recording, labeller) if by_windows and seconds else None,
            warnings=list(recording.warnings),
        )


class Classified(Schema):
    """Labels, in the order of the recordings."""

    model_config = example(
        {
            "site": "street",
            "labels": ["dog bark", "siren"],
            "background": ["wind"],
            "adapted": True,
            "results": [
                {
                    "file": "gate.wav",
                    "row": "9b1c2f70a4d35e68f07a1b2c3d4e5f60",
                    "seconds": 5.0,
                    "label": "siren",
                    "score": 0.41,
                    "zero_shot": "dog bark",
                    "zero_shot_score": 0.12,
                    "probability": 0.87,
                    "runner_up": "dog bark",
                    "margin": 0.2,
                    "top": [
                        {"label": "siren", "score": 0.41},
                        {"label": "dog bark", "score": 0.21},
                    ],
                    "unknown": False,
                    "warnings": [],
                    "error": None,
                },
                {
                    "file": "notes.txt",
                    "error": {
                        "code": "bad_audio",
                        "message": "its bytes are not those of a wav file",
                    },
                },
            ],
        }
    )

    site: str
    labels: list[str]
    background: list[str] = Field(description="Words that compete with the labels.")
    adapted: bool = Field(description="Whether a correction took part.")
    results: list[LabelledRecording | FailedRecording]


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route to an application."""

    @app.post(
        "/v1/classify",
        summary="Label recordings",
        tags=["recordings"],
        openapi_extra=parameters.recordings_body(service.encoder.dim),
        response_model=Classified,
        response_description="One result for each recording, in their order.",
        responses=documented(400, 404, 408, 413, 415, 422, 429, 503),
    )
    async def classify(
        request: Request,
        site: parameters.SiteQuery = None,
        labels: parameters.LabelList = None,
        background: parameters.BackgroundList = None,
        windows: parameters.Windows = None,
        timeline: parameters.Timeline = False,
        top: parameters.Top = 3,
        threshold: parameters.Threshold = None,
        rate: parameters.Rate = 16000,
        format: parameters.Format = "s16le",
        channels: parameters.Channels = 1,
    ) -> Response:
        """Labels for one or many recordings, or for raw samples, by the site's adapter.

        A recording that cannot be used has an `error` in its place; the others are answered. Where
        none can be used the status is 422.
        """
        chosen = service.sites[site or service.sites.default]
        labeller = chosen.labeller
        if labels is not None or background is not None:
            labeller = await service.labeller(chosen, labels, background)
        if threshold is not None:
            labeller = Labeller(labeller.adapter, threshold=threshold)
        label = partial(
            LabelledRecording.of, labeller=labeller, top=top, timeline=timeline, windows=windows
        )
        results = await answer_each(service, request, (rate, format, channels), label)
        service.metrics.recordings.labels(chosen.name).inc(len(results))
        names = labeller.adapter.labels
        reported = len(names) - (labeller.adapter.facts.background or 0)
        answer = Classified(
            site=chosen.name,
            labels=list(names[:reported]),
            background=list(names[reported:]),
            adapted=chosen.adapted,
            results=results,
        )
        return await json_response(answer, large=timeline)


async def answer_each(
    service: Service,
    request: Request,
    pcm: tuple[int, str, int],
    answer: Callable[[EmbeddedRecording], Result],
) -> list[Result | FailedRecording]:
    """Receive the recordings of a request, embed them, and answer for each on the same thread.

    ``pcm`` are rate, form and channels of raw samples. Raises where no recording can be used.
    """
    kind = content_type(request, (MULTIPART, PCM, JSON))
    if kind == JSON:
        rows = await receive_rows(request, service.limits, service.embedder)

        def label() -> list[Result | ApiError]:
            return [row if isinstance(row, ApiError) else answer(row) for row in rows]

        results = await asyncio.to_thread(label)
    else:
        if kind == MULTIPART:
            upload = await receive_multipart(request, service.limits)
        else:
            upload = await receive_sound(request, service.limits, kind, pcm)
        results = await service.embedder.embed(upload.recordings, upload.until, answer)
    errors = [result for result in results if isinstance(result, ApiError)]
    if len(errors) == len(results):
        raise all_failed(errors)
    return [FailedRecording.of(r) if isinstance(r, ApiError) else r for r in results]


async def json_response(answer: Schema, *, large: bool) -> Response:
    """An answer as JSON; a large one is written on a thread, so that others need not wait."""
    body = await asyncio.to_thread(answer.model_dump_json) if large else answer.model_dump_json()
    return Response(body, media_type=JSON)

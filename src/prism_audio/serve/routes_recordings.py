"""``/v1/classify``, ``/v1/embeddings`` and ``/v1/calibrate``: the routes that take recordings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import numpy as np
from fastapi import FastAPI, Request
from starlette.responses import Response

from prism_audio.labelling.labeller import Labeller
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve import parameters
from prism_audio.serve.concurrency import Deadline
from prism_audio.serve.embed_recording import EmbeddedRecording
from prism_audio.serve.errors import ApiError, all_failed, documented
from prism_audio.serve.jobs import Job
from prism_audio.serve.json_rows import read_rows
from prism_audio.serve.label_vectors import parse_labels
from prism_audio.serve.recording_schemas import (
    Classified,
    Embedded,
    FailedRecording,
    LabelledRecording,
    RecordingEmbedding,
    Schema,
)
from prism_audio.serve.service import Service
from prism_audio.serve.site_schemas import AcceptedJob, CalibrationResult
from prism_audio.serve.uploads import (
    AUDIO,
    JSON,
    MULTIPART,
    PCM,
    content_type,
    receive_multipart,
    receive_raw,
    receive_sound,
    received,
)

Result = TypeVar("Result", bound=Schema)


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes to an application."""

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
        with service.requests.slot():
            deadline = Deadline(service.limits.request_seconds)
            chosen = service.sites.get(site)
            labeller = await service.labeller(chosen, labels, deadline)
            if threshold is not None:
                labeller = Labeller(labeller.adapter, threshold=threshold)
            recordings = await _embed(service, request, deadline, (rate, format, channels))

            def body() -> str:
                label = partial(LabelledRecording.of, labeller=labeller, top=top, timeline=timeline)
                return Classified(
                    site=chosen.name,
                    labels=list(labeller.adapter.labels),
                    adapted=chosen.verdict in ("adapted", "shrunk"),
                    results=_results(recordings, label),
                ).model_dump_json()

            answer = Response(await asyncio.to_thread(body), media_type=JSON)
        service.metrics.recordings.labels(chosen.name).inc(len(recordings))
        return answer

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
        with service.requests.slot():
            deadline = Deadline(service.limits.request_seconds)
            recordings = await _embed(service, request, deadline, (rate, format, channels))

            def body() -> str:
                return Embedded(
                    encoder=service.encoder.id,
                    fingerprint=service.encoder.fingerprint,
                    dim=service.encoder.dim,
                    results=_results(recordings, partial(RecordingEmbedding.of, timeline=timeline)),
                ).model_dump_json()

            return Response(await asyncio.to_thread(body), media_type=JSON)

    @app.post(
        "/v1/calibrate",
        status_code=202,
        summary="Calibrate a site",
        tags=["calibration"],
        openapi_extra=parameters.calibration_body(service.encoder.dim),
        response_description="Accepted; ask for the job, or follow its events.",
        responses=documented(400, 404, 408, 409, 413, 415, 422, 429, 503),
    )
    async def calibrate(
        request: Request,
        site: parameters.SiteName,
        labels: parameters.LabelList = None,
        preset: parameters.Preset = "default",
        prompts: parameters.Prompts = None,
        take_weaker: parameters.TakeWeaker = False,
    ) -> AcceptedJob:
        """Look at unlabelled recordings (or their embeddings) once and correct the site by them.

        A new name makes a site, with the labels given or those of the default site. When the job is
        done the adapter is a new version of the site, and used from then on unless it is weaker
        than the one in use; requests that began before end with the old one.
        """
        with service.requests.slot(), service.jobs.place() as submit:
            deadline = Deadline(service.limits.request_seconds)
            service.sites.check_room(site)
            words = await _vocabulary(service, site, labels, prompts, deadline)
            total, work = await _calibration(service, request, deadline)
            job = Job(site, total)
            submit(job, partial(work, words=words, preset=preset, take_weaker=take_weaker))
        url = f"/v1/jobs/{job.id}"
        return AcceptedJob(job=job.id, site=site, url=url, events=f"{url}/events")


async def _vocabulary(
    service: Service, name: str, labels: str | None, prompts: str | None, deadline: Deadline
) -> Vocabulary:
    """The classes of a calibration: those that were sent, or those of the site."""
    adapter = next((s for s in service.sites if s.name == name), service.sites.get()).adapter
    if labels is None and prompts is None:
        return Vocabulary.of(adapter)
    names = adapter.labels if labels is None else parse_labels(labels, service.limits)
    vectors = service.label_vectors
    return await vectors.compute(names, vectors.prompts(prompts), deadline)


async def _embed(
    service: Service, request: Request, deadline: Deadline, pcm: tuple[int, str, int]
) -> list[EmbeddedRecording | ApiError]:
    """Receive the recordings of a request and embed them; raises where none can be used."""
    kind = content_type(request, (MULTIPART, PCM, JSON))
    if kind == JSON:
        return _some(await _rows(service, request, deadline))
    if kind in (PCM, AUDIO):
        rate, form, channels = pcm
        receiving = receive_sound(request, service.limits, rate=rate, form=form, channels=channels)
    else:
        receiving = receive_multipart(request, service.limits)
    upload = await received(receiving, deadline)
    try:
        results = await service.embed(upload.recordings, deadline)
    finally:
        upload.close()
    return _some(results)


async def _rows(
    service: Service, request: Request, deadline: Deadline
) -> list[EmbeddedRecording | ApiError]:
    """Embeddings that a client sent, or those that were kept of its recordings."""
    body = await received(receive_raw(request, service.limits), deadline)
    try:
        rows = await asyncio.to_thread(read_rows, body, service.encoder.dim, service.limits)
    finally:
        body.close()
    if isinstance(rows, list):
        return await asyncio.to_thread(service.kept, rows)
    none, features = np.empty(0), np.empty((0, 1), np.float32)
    weight = none.astype(np.float32)
    return [
        EmbeddedRecording(f"row {i}", "", row, none, none, weight, features, service.encoder)
        for i, row in enumerate(rows)
    ]


def _some(results: list[EmbeddedRecording | ApiError]) -> list[EmbeddedRecording | ApiError]:
    errors = [result for result in results if isinstance(result, ApiError)]
    if len(errors) == len(results):
        raise all_failed(errors)
    return results


def _results(
    recordings: list[EmbeddedRecording | ApiError],
    answer: Callable[[EmbeddedRecording], Result],
) -> list[Result | FailedRecording]:
    return [
        FailedRecording.of(recording) if isinstance(recording, ApiError) else answer(recording)
        for recording in recordings
    ]


async def _calibration(
    service: Service, request: Request, deadline: Deadline
) -> tuple[int, Callable[..., Awaitable[CalibrationResult]]]:
    """How many recordings or rows there are, and the work of the job."""
    if content_type(request, (MULTIPART, JSON)) == MULTIPART:
        upload = await received(receive_multipart(request, service.limits), deadline)
        return len(upload.recordings), partial(service.calibrate, upload=upload)
    rows = _some(await _rows(service, request, deadline))
    return len(rows), partial(service.calibrate_rows, results=rows)

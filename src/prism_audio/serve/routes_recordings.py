"""``/v1/classify``, ``/v1/embeddings`` and ``/v1/calibrate``: what takes recordings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from prism_audio.labelling.batch import Batch
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve import examples, parameters, schemas
from prism_audio.serve.answers import document, embedded, failed, labelled
from prism_audio.serve.embeddings import read_rows
from prism_audio.serve.examples import example
from prism_audio.serve.hearing import Deadline, EmbeddedRecording
from prism_audio.serve.jobs import Job, Work
from prism_audio.serve.refusal import Refusal
from prism_audio.serve.service import Service, all_bad
from prism_audio.serve.sites import Site
from prism_audio.serve.uploads import (
    JSON,
    MULTIPART,
    PCM,
    receive_multipart,
    receive_pcm,
    receive_raw,
)
from prism_audio.serve.words import client_labels, reworded

RECORDINGS = schemas.refusals(400, 404, 408, 413, 415, 422, 429, 503)


def add_routes(app: FastAPI, service: Service) -> None:
    """Add them to an application."""

    @app.post(
        "/v1/classify",
        summary="Label recordings",
        tags=["recordings"],
        openapi_extra=parameters.recordings_body(),
        responses={
            200: {
                "model": schemas.Classified,
                "description": "One result for each recording, in their order.",
                **example(examples.CLASSIFIED),
            },
            **RECORDINGS,
        },
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
        with service.admission.place():
            deadline = Deadline(service.limits.request_seconds)
            chosen = service.sites.get(site)
            adapter = await _adapter(service, chosen, labels, deadline)
            sounds = await _sounds(
                service, request, deadline, (rate, format, channels), each_window=timeline
            )
            answer = partial(
                labelled, adapter=adapter, top=top, threshold=threshold, timeline=timeline
            )
            head = {
                "site": chosen.name,
                "labels": list(adapter.labels),
                "adapted": chosen.verdict in ("adapted", "shrunk"),
            }
            return await _answered(head, sounds, answer)

    @app.post(
        "/v1/embeddings",
        summary="Embed recordings",
        tags=["recordings"],
        openapi_extra=parameters.recordings_body(),
        responses={
            200: {
                "model": schemas.Embedded,
                "description": "One result for each recording, in their order.",
                **example(examples.EMBEDDED),
            },
            **schemas.refusals(400, 408, 413, 415, 422, 429, 503),
        },
    )
    async def embeddings(
        request: Request,
        timeline: parameters.Timeline = False,
        rate: parameters.Rate = 16000,
        format: parameters.Format = "s16le",
        channels: parameters.Channels = 1,
    ) -> Response:
        """Unit vectors of recordings or raw samples, as the encoder gives them: no site takes part."""
        with service.admission.place():
            deadline = Deadline(service.limits.request_seconds)
            sounds = await _sounds(
                service, request, deadline, (rate, format, channels), each_window=timeline
            )
            head = {
                "encoder": service.encoder.id,
                "fingerprint": service.encoder.fingerprint,
                "dim": service.encoder.dim,
            }
            return await _answered(head, sounds, partial(embedded, timeline=timeline))

    @app.post(
        "/v1/calibrate",
        status_code=202,
        summary="Calibrate a site",
        tags=["calibration"],
        openapi_extra=parameters.calibration_body(service.encoder.dim),
        responses={
            202: {
                "model": schemas.Accepted,
                "description": "Accepted; ask for the job, or follow its events.",
                **example(examples.ACCEPTED),
            },
            **schemas.refusals(400, 404, 408, 409, 413, 415, 422, 429, 503),
        },
    )
    async def calibrate(
        request: Request,
        site: parameters.SiteName,
        labels: parameters.LabelList = None,
        preset: parameters.Preset = "default",
        prompts: parameters.Prompts = None,
    ) -> Response:
        """Look at unlabelled recordings (or their embeddings) once and correct the site by them.

        A new name makes a site, with the labels given or those of the default site. When the job is
        done the adapter is stored and used from then on; requests that began before end with the
        old one.
        """
        with service.admission.place(), service.jobs.room() as submit:
            deadline = Deadline(service.limits.request_seconds)
            service.sites.room_for(site)
            words = await _words(service, site, labels, prompts, deadline)
            total, work = await _work(service, request, deadline, words, preset)
            job = Job(site, total)
            submit(job, work)
        url = f"/v1/jobs/{job.id}"
        return JSONResponse(
            {"job": job.id, "site": site, "url": url, "events": f"{url}/events"}, 202
        )


async def _adapter(service: Service, site: Site, labels: str | None, deadline: Deadline) -> Adapter:
    if labels is None:
        return site.adapter
    names = client_labels(labels, service.limits)
    prompts = service.words.prompts_of(site.adapter)
    return reworded(site.adapter, await service.words.ask(names, prompts, deadline))


async def _words(
    service: Service, name: str, labels: str | None, prompts: str | None, deadline: Deadline
) -> Vocabulary:
    known = next((site for site in service.sites if site.name == name), service.sites.get())
    if labels is None and prompts is None:
        return Vocabulary.of(known.adapter)
    names = known.adapter.labels if labels is None else client_labels(labels, service.limits)
    chosen = service.words.prompts(prompts)
    return await service.words.ask(names, chosen, deadline)


async def _sounds(
    service: Service,
    request: Request,
    deadline: Deadline,
    pcm: tuple[int, str, int],
    *,
    each_window: bool,
) -> list[EmbeddedRecording | Refusal]:
    kind = _kind(request, (MULTIPART, PCM))
    rate, form, channels = pcm
    if kind == PCM:
        receiving = receive_pcm(request, service.limits, rate=rate, form=form, channels=channels)
    else:
        receiving = receive_multipart(request, service.limits)
    upload = await _received(receiving, deadline)
    try:
        sounds = await service.hear(upload.recordings, deadline, each_window=each_window)
    finally:
        upload.close()
    bad = [sound for sound in sounds if isinstance(sound, Refusal)]
    if len(bad) == len(sounds):
        raise all_bad(bad)
    return sounds


async def _answered(
    head: dict[str, Any],
    sounds: list[EmbeddedRecording | Refusal],
    answer: Callable[[EmbeddedRecording], dict[str, Any]],
) -> Response:
    def body() -> bytes:
        results = [
            failed(sound) if isinstance(sound, Refusal) else answer(sound) for sound in sounds
        ]
        return document(head, results)

    return Response(await asyncio.to_thread(body), media_type=JSON)


async def _work(
    service: Service, request: Request, deadline: Deadline, words: Vocabulary, preset: str
) -> tuple[int, Work]:
    """How much there is to do, and what does it."""
    if _kind(request, (MULTIPART, JSON)) == MULTIPART:
        upload = await _received(receive_multipart(request, service.limits), deadline)
        work: Work = partial(service.calibrate, upload=upload, words=words, preset=preset)
        return len(upload.recordings), work
    body = await _received(receive_raw(request, service.limits), deadline)
    try:
        rows = await asyncio.to_thread(read_rows, body, service.encoder.dim, service.limits)
    finally:
        body.close()
    unknown = np.full(len(rows), np.nan)
    batch = Batch(
        rows,
        [f"row {i}" for i in range(len(rows))],
        unknown,
        unknown,
        "row",
        service.encoder.id,
        service.encoder.fingerprint,
    )
    return len(rows), partial(service.calibrate_batch, batch=batch, words=words, preset=preset)


async def _received(receiving: Any, deadline: Deadline) -> Any:
    try:
        return await asyncio.wait_for(receiving, deadline.left)
    except TimeoutError:
        raise deadline.refusal() from None
    except ClientDisconnect:
        raise Refusal(
            400, "disconnected", "the client went away before the request ended"
        ) from None


def _kind(request: Request, known: tuple[str, ...]) -> str:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in known:
        raise Refusal(
            415,
            "unsupported_type",
            f"the body is {given[:80] or 'of no stated type'}; wanted is {' or '.join(known)}",
        )
    return given

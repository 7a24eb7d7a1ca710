"""``/v1/events``: the events of recordings as a file for other programs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from prism_audio.serve import parameters
from prism_audio.serve.errors import documented
from prism_audio.serve.events import HeardRecording, events_file, find_events
from prism_audio.serve.routes_classify import answer_each
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.service import Service

Form = Annotated[
    Literal["csv", "json", "audacity", "raven", "sed", "kaleidoscope", "birdnet"],
    Query(description="The kind of file, as `prism classify --format` writes it."),
]
BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route to an application."""

    @app.post(
        "/v1/events",
        summary="Events as a file",
        tags=["recordings"],
        openapi_extra=parameters.recordings_body(service.encoder.dim),
        response_class=Response,
        responses={
            200: {"description": "The file, for download.", "content": BINARY},
            **documented(400, 404, 408, 413, 415, 422, 429, 503),
        },
    )
    async def save_events(
        request: Request,
        form: Form = "csv",
        site: parameters.SiteQuery = None,
        labels: parameters.LabelList = None,
        background: parameters.BackgroundList = None,
        rate: parameters.Rate = 16000,
        format: parameters.Format = "s16le",
        channels: parameters.Channels = 1,
    ) -> Response:
        """What was heard from when to when, in recordings or in rows that were sent before.

        Recordings that cannot be used are left out. Several recordings become one file where the
        format has room for them, else a zip file.
        """
        chosen = service.sites[site or service.sites.default]
        labeller = await service.labeller(chosen, labels, background)

        def answer(recording: EmbeddedRecording) -> HeardRecording:
            events = find_events(recording, labeller) if len(recording.start) else []
            return HeardRecording(recording.file, recording.seconds or 0.0, events)

        results = await answer_each(service, request, (rate, format, channels), answer)
        heard = [result for result in results if isinstance(result, HeardRecording)]
        name, content = await asyncio.to_thread(events_file, form, heard, service.encoder.rate)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(content, media_type="application/octet-stream", headers=headers)

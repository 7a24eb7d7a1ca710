"""``/v1/sites/.../labels``: clips to listen to, what people heard, and what that says of the site."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from pydantic import ValidationError

from prism_audio.serve import parameters
from prism_audio.serve.errors import ApiError, all_failed, documented
from prism_audio.serve.label_sheets import LabelSheet, LabelSheets, PickedClip, SiteCheck
from prism_audio.serve.plain_bodies import receive_raw, receive_rows
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.service import Service
from prism_audio.serve.uploads import JSON, content_type

RowPath = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The id of the embedding.")]
Heard = Annotated[
    str,
    Query(
        max_length=200,
        description="What was heard: a label of the site, or 'other'; empty takes it back.",
        examples=["siren"],
    ),
]
FileName = Annotated[
    str, Query(max_length=1000, description="The client's name for the recording.")
]


async def receive_kept(request: Request, service: Service) -> list[EmbeddedRecording]:
    """The recordings that a request names and the service still keeps."""
    content_type(request, (JSON,))
    rows = await receive_rows(request, service.limits, service.embedder)
    kept = [row for row in rows if isinstance(row, EmbeddedRecording)]
    if not kept:
        raise all_failed([row for row in rows if isinstance(row, ApiError)])
    return kept


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes to an application."""
    sheets = LabelSheets(service.sites)
    rows_body = parameters.rows_body(service.encoder.dim)

    @app.post(
        "/v1/sites/{site}/pick",
        summary="Pick clips to listen to",
        tags=["labels"],
        openapi_extra=rows_body,
        response_description="The sheet of the site.",
        responses=documented(400, 404, 408, 409, 413, 415, 422, 429, 503),
    )
    async def pick_clips(request: Request, site: parameters.SitePath) -> LabelSheet:
        """A random sample of recordings, likelier where a label tells more; or the sheet there is.

        The clips are in the order in which to listen, and one may stop after any of them.
        """
        place = service.sites[site]
        return await asyncio.to_thread(sheets.pick, place, await receive_kept(request, service))

    @app.post(
        "/v1/sites/{site}/check",
        summary="How good a site is",
        tags=["labels"],
        openapi_extra=rows_body,
        responses=documented(400, 404, 408, 413, 415, 422, 429, 503),
    )
    async def check_site(request: Request, site: parameters.SitePath) -> SiteCheck:
        """Accuracy on these recordings, from the labels, with intervals that hold 95 %."""
        place = service.sites[site]
        return await asyncio.to_thread(sheets.check, place, await receive_kept(request, service))

    @app.get(
        "/v1/sites/{site}/labels",
        summary="The labels of a site",
        tags=["labels"],
        responses=documented(404, 422),
    )
    async def get_labels(site: parameters.SitePath) -> LabelSheet:
        """The sheet of a site; empty where nothing was picked."""
        return await asyncio.to_thread(sheets.read, site)

    @app.put(
        "/v1/sites/{site}/labels",
        summary="Import labels",
        tags=["labels"],
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {JSON: {"schema": LabelSheet.model_json_schema()}},
            }
        },
        responses=documented(400, 404, 408, 413, 415, 422, 429, 503),
    )
    async def put_labels(request: Request, site: parameters.SitePath) -> LabelSheet:
        """Keep a sheet in place of the present one; an empty sheet removes all labels."""
        content_type(request, (JSON,))
        body = await receive_raw(request, service.limits)

        def keep() -> LabelSheet:
            try:
                sheet = LabelSheet.model_validate_json(body.read_at(0, body.size))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise ApiError(422, "bad_sheet", f"{where}: {first['msg']}"[:300]) from None
            return sheets.write(site, sheet)

        return await asyncio.to_thread(keep)

    @app.put(
        "/v1/sites/{site}/labels/{row}",
        summary="Label a clip",
        tags=["labels"],
        responses=documented(404, 422, 429, 503),
    )
    async def put_label(
        site: parameters.SitePath, row: RowPath, label: Heard, file: FileName = ""
    ) -> PickedClip:
        """Write down what was heard in a clip of the sheet."""
        return await asyncio.to_thread(sheets.label, site, row, label, file)

"""``/v1/sites/.../search``: recordings by words, or by their likeness to one of them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import numpy as np
from fastapi import FastAPI, Query, Request
from pydantic import Field

from prism_audio.io.types import Float
from prism_audio.labelling.search import nearest
from prism_audio.serve import parameters
from prism_audio.serve.errors import ApiError, documented
from prism_audio.serve.label_vectors import parse_labels
from prism_audio.serve.routes_labels import receive_kept
from prism_audio.serve.schemas import Schema, example
from prism_audio.serve.service import Service
from prism_audio.serve.site import Site

Words = Annotated[
    str | None, Query(description="What to search for, in words.", examples=["breaking glass"])
]
Like = Annotated[
    str | None,
    Query(pattern="^[0-9a-f]{32}$", description="Or the id of a recording that it sounds like."),
]


class SearchHit(Schema):
    """A recording and how near it is."""

    row: str
    score: float = Field(description="Cosine to the query in the corrected space of the site.")


class SearchResult(Schema):
    """All recordings, the nearest first."""

    model_config = example(
        {"results": [{"row": "9b1c2f70a4d35e68f07a1b2c3d4e5f60", "score": 0.41}]}
    )

    results: list[SearchHit]


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route to an application."""

    async def query(site: Site, text: str | None, like: str | None) -> Float:
        if (text is None) == (like is None):
            raise ApiError(422, "bad_query", "say what to search for: text or like, one of both")
        if text is not None:
            names = parse_labels(text, service.limits)[:1]
            words = service.label_vectors
            found = await words.compute(names, (), words.prompts_of(site.adapter))
            return np.ravel(found.prototypes)
        recording = service.embedder.rows.get(str(like))
        if recording is None:
            message = "the service does not keep this recording any more; send its sound"
            raise ApiError(404, "unknown_row", message)
        return np.ravel(site.adapter.transform(recording.embedding[None]))

    @app.post(
        "/v1/sites/{site}/search",
        summary="Search recordings",
        tags=["labels"],
        openapi_extra=parameters.rows_body(service.encoder.dim),
        responses=documented(400, 404, 408, 413, 415, 422, 429, 503),
    )
    async def search(
        request: Request, site: parameters.SitePath, text: Words = None, like: Like = None
    ) -> SearchResult:
        """Order recordings that were sent before by words, or by their likeness to one of them."""
        place = service.sites[site]
        wanted = await query(place, text, like)
        recordings = await receive_kept(request, service)
        rows = np.stack([recording.embedding for recording in recordings])
        hits = await asyncio.to_thread(nearest, [rows], wanted, len(rows), place.adapter)
        return SearchResult(
            results=[
                SearchHit(row=recordings[hit.row].row, score=round(hit.score, 6)) for hit in hits
            ]
        )

"""``/v1/sites``: sites, their versions and their adapters."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from fastapi import FastAPI, Request
from starlette.responses import Response

from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.serve import parameters
from prism_audio.serve.errors import documented
from prism_audio.serve.plain_bodies import receive_raw
from prism_audio.serve.service import Service
from prism_audio.serve.site import Site
from prism_audio.serve.site_schemas import SiteHistory, SiteList, SiteSummary
from prism_audio.serve.site_store import read_bytes
from prism_audio.serve.uploads import PCM, content_type

BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes to an application."""

    @app.get("/v1/sites", summary="All sites", tags=["sites"], responses=documented())
    async def list_sites() -> SiteList:
        """The places this service knows, with their labels and the result of their calibration."""
        summaries = [site.summary(service.encoder) for site in list(service.sites.values())]
        return SiteList(default=service.sites.default, sites=summaries)

    @app.get("/v1/sites/{site}", summary="One site", tags=["sites"], responses=documented(404, 422))
    async def get_site(site: parameters.SitePath) -> SiteSummary:
        """A place: its labels, its verdict and why."""
        return service.sites[site].summary(service.encoder)

    @app.get(
        "/v1/sites/{site}/adapter",
        summary="The adapter of a site",
        tags=["sites"],
        response_class=Response,
        responses={
            200: {
                "description": "The file, as `prism classify --adapter` takes it.",
                "content": BINARY,
            },
            **documented(404, 422),
        },
    )
    async def get_adapter(
        site: parameters.SitePath, version: parameters.AnyVersion = None
    ) -> Response:
        """Download the adapter in use, or that of a version; 404 where that is plain zero-shot."""
        content = await asyncio.to_thread(service.sites.file, site, version)
        name = f'attachment; filename="{site}.safetensors"'
        headers = {"Content-Disposition": name}
        return Response(content, media_type="application/octet-stream", headers=headers)

    @app.put(
        "/v1/sites/{site}",
        summary="Upload an adapter",
        tags=["sites"],
        openapi_extra={"requestBody": {"required": True, "content": BINARY}},
        response_description="The site with the adapter.",
        responses=documented(400, 408, 409, 413, 415, 422, 429, 503),
    )
    async def put_site(request: Request, site: parameters.SitePath) -> SiteSummary:
        """Make a site of an adapter's file, or give a site another adapter."""
        service.sites.check_room(site)
        content_type(request, (PCM,))
        body = await receive_raw(request, service.limits)
        adapter = read_bytes(await asyncio.to_thread(body.read_at, 0, body.size))
        refuse_other_encoder(adapter, service.encoder.fingerprint, service.encoder.id, "the file")
        made = Site(site, adapter)
        made.summary(service.encoder)  # refuses facts that cannot be shown
        made = await asyncio.to_thread(service.sites.put, made, "upload")
        return made.summary(service.encoder)

    @app.get(
        "/v1/sites/{site}/history",
        summary="The versions of a site",
        tags=["sites"],
        responses=documented(404, 422),
    )
    async def get_history(site: parameters.SitePath) -> SiteHistory:
        """What a site was calibrated to before, when and on how much; the last ten are kept."""
        return SiteHistory.model_validate(asdict(service.sites[site].history))

    @app.post(
        "/v1/sites/{site}/use",
        summary="Use a version of a site",
        tags=["sites"],
        response_description="The site with that version.",
        responses=documented(404, 422, 429, 503),
    )
    async def use_version(site: parameters.SitePath, version: parameters.Version) -> SiteSummary:
        """Undo or redo a calibration, take one that was only offered, or reset to zero-shot (0)."""
        chosen = await asyncio.to_thread(service.sites.use, site, version)
        return chosen.summary(service.encoder)

    @app.post(
        "/v1/sites/{site}/rename",
        summary="Rename a site",
        tags=["sites"],
        response_description="The site under its new name.",
        responses=documented(404, 409, 422, 429, 503),
    )
    async def rename_site(site: parameters.SitePath, name: parameters.NewName) -> SiteSummary:
        """Rename a site; the default site then starts afresh under its own name."""
        renamed = await asyncio.to_thread(service.sites.rename, site, name)
        return renamed.summary(service.encoder)

    @app.delete(
        "/v1/sites/{site}",
        status_code=204,
        response_model=None,  # the lowest FastAPI takes the annotation for a body
        summary="Remove a site",
        tags=["sites"],
        response_description="It is gone.",
        responses=documented(404, 409, 422, 429, 503),
    )
    async def delete_site(site: parameters.SitePath) -> None:
        """Remove a site and its stored adapter; the default site stays."""
        with service.requests.take():
            await asyncio.to_thread(service.sites.remove, site)

"""``/v1/calibrate``: start a calibration."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request

from prism_audio.serve import parameters
from prism_audio.serve.calibration_job import Calibration, Rows
from prism_audio.serve.errors import ApiError, all_failed, documented
from prism_audio.serve.job import Job
from prism_audio.serve.label_sheets import LabelSheets
from prism_audio.serve.plain_bodies import receive_rows
from prism_audio.serve.schemas import Schema, example
from prism_audio.serve.service import Service
from prism_audio.serve.uploads import (
    JSON,
    MULTIPART,
    Recording,
    content_type,
    receive_multipart,
)

_JOB = "0f3a9c1d22b84e67"


class AcceptedJob(Schema):
    """A calibration that was accepted."""

    model_config = example(
        {
            "job": _JOB,
            "site": "street",
            "url": f"/v1/jobs/{_JOB}",
            "events": f"/v1/jobs/{_JOB}/events",
        }
    )

    job: str
    site: str
    url: str
    events: str


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route to an application."""
    sheets = LabelSheets(service.sites)

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
        background: parameters.BackgroundList = None,
        windows: parameters.Windows = None,
        preset: parameters.Preset = "default",
        prompts: parameters.Prompts = None,
        take_weaker: parameters.TakeWeaker = False,
        labelled: parameters.Labelled = False,
    ) -> AcceptedJob:
        """Look at unlabelled recordings (or their embeddings) once and correct the site by them.

        A new name makes a site, with the labels given or those of the default site. Where a
        recording is longer than 30 s the calibration looks at the windows of all of them. When the
        job is done the adapter is a new version of the site, and used from then on unless it is
        weaker than the one in use; requests that began before end with the old one.
        """
        with service.jobs.place() as submit:
            service.sites.check_room(site)
            known = service.sites[site if site in service.sites else service.sites.default]
            words = await service.vocabulary(known.adapter, labels, background, prompts)
            sounds: Sequence[Recording] | Rows
            if content_type(request, (MULTIPART, JSON)) == MULTIPART:
                sounds = (await receive_multipart(request, service.limits)).recordings
            else:
                sounds = _some(await receive_rows(request, service.limits, service.embedder))
            heard = sheets.heard(site) if labelled else {}
            job = Job(site, len(sounds))
            work = Calibration(service, words, preset, take_weaker, windows, sounds, heard)
            submit(job, work.run)
        url = f"/v1/jobs/{job.id}"
        return AcceptedJob(job=job.id, site=site, url=url, events=f"{url}/events")


def _some(rows: Rows) -> Rows:
    errors = [row for row in rows if isinstance(row, ApiError)]
    if len(errors) == len(rows):
        raise all_failed(errors)
    return rows

"""Answers about the service, its sites and its calibrations."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from prism_audio.serve.errors import Problem
from prism_audio.serve.schemas import FailedRecording, Schema, example

_JOB = "0f3a9c1d22b84e67"
_SITE: dict[str, Any] = {
    "name": "street",
    "encoder": {"id": "concepts", "rate": 16000, "window": 0.975, "hop": 0.48, "dim": 521},
    "labels": ["dog bark", "siren"],
    "background": ["wind"],
    "verdict": "adapted",
    "reasons": ["20 clips a class, about 2 of 2 classes heard"],
    "weight": 0.96,
    "clips": 40,
    "date": "2026-05-04T09:30:00+00:00",
    "version": 1,
    "previous": 0,
}
Verdict = Literal["adapted", "shrunk", "zero-shot", "none"]


class Health(Schema):
    """Whether the service takes requests."""

    model_config = example({"status": "ok", "version": "0.2.0"})

    status: Literal["ok", "busy", "stopping"]
    version: str


class ServiceLimits(Schema):
    """How much a client may ask for."""

    model_config = example(
        {
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
    )

    files: int = Field(description="Recordings in a request.")
    bytes: int = Field(description="Bytes in the body of a request.")
    seconds: float = Field(description="The longest recording.")
    request_seconds: float = Field(description="How long a request may take.")
    formats: list[str] = Field(description="Kinds of recordings, by their suffix.")
    pcm: list[str] = Field(description="Formats of raw samples.")
    labels: int = Field(description="Labels in a list.")
    rows: int = Field(description="Embeddings in a calibration.")
    live: int = Field(description="Live streams at a time.")
    sites_pattern: str = Field(description="What a site may be called, as a regular expression.")


class EncoderSummary(Schema):
    """What turns sound into embeddings."""

    id: str
    rate: int = Field(description="Hz.")
    window: float = Field(description="Seconds it hears at a time.")
    hop: float = Field(description="Seconds from one window to the next.")
    dim: int = Field(description="Numbers in an embedding.")


class SiteSummary(Schema):
    """A place."""

    model_config = example(_SITE)

    name: str
    encoder: EncoderSummary
    labels: list[str]
    background: list[str] = Field(
        default_factory=list, description="Words that compete with the labels."
    )
    verdict: Verdict = Field(description="Result of its calibration; 'none' without one.")
    reasons: list[str]
    weight: float | None = Field(description="How much of the correction is used, 0 to 1.")
    clips: int | None = Field(description="Recordings it was calibrated on.")
    date: str | None = Field(description="When, in ISO 8601.")
    version: int = Field(description="The version in use; 0 without a calibration.")
    previous: int | None = Field(description="The version before; use it to undo.")


class SiteVersion(Schema):
    """One version of a site."""

    version: int
    origin: Literal["start", "calibration", "upload"]
    labels: list[str]
    verdict: Verdict
    weight: float | None
    clips: int | None
    date: str


class SiteHistory(Schema):
    """The versions of a site, oldest first; version 0 is plain zero-shot."""

    model_config = example(
        {
            "in_use": 1,
            "previous": 0,
            "versions": [
                {
                    "version": 1,
                    "origin": "calibration",
                    "labels": ["dog bark", "siren"],
                    "verdict": "adapted",
                    "weight": 0.96,
                    "clips": 40,
                    "date": "2026-05-04T09:30:00+00:00",
                }
            ],
        }
    )

    in_use: int = 0
    previous: int | None = None
    versions: list[SiteVersion] = Field(default_factory=list)


class SiteList(Schema):
    """All places."""

    model_config = example({"default": "street", "sites": [_SITE]})

    default: str
    sites: list[SiteSummary]


class ClassCount(Schema):
    """Recordings of a class before and after."""

    label: str
    before: int
    after: int


class ClipChange(Schema):
    """A recording before and after."""

    file: str
    zero_shot: str
    label: str
    score: float
    changed: bool


class View(Schema):
    """The embeddings in two dimensions, the same two before and after."""

    before: list[list[float]]
    after: list[list[float]]
    labels: list[int]
    zero_shot: list[int]


class CalibrationReport(Schema):
    """What a calibration did to its own recordings."""

    changed: int = Field(description="Labels that are not what zero-shot said.")
    classes: list[ClassCount]
    clips_table: list[ClipChange]
    view: View


class CalibrationResult(CalibrationReport):
    """What a calibration found."""

    site: SiteSummary = Field(description="The site with this calibration.")
    version: int = Field(description="The version that this calibration is.")
    taken: bool = Field(
        description="Whether it is in use; a weaker one than the present is only offered."
    )
    clips: int
    skipped: list[FailedRecording]


class JobSummary(Schema):
    """A calibration on its way."""

    model_config = example(
        {
            "job": _JOB,
            "site": "street",
            "state": "running",
            "stage": "reading",
            "done": 12,
            "total": 40,
            "seconds_left": 1.4,
            "error": None,
            "result": None,
        }
    )

    job: str
    site: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    stage: Literal["reading", "calibrating", "storing"] | None
    done: int
    total: int
    seconds_left: float | None
    error: Problem | None
    result: CalibrationResult | None


class JobList(Schema):
    """The last calibrations, oldest first, without their results."""

    model_config = example({"jobs": []})

    jobs: list[JobSummary]

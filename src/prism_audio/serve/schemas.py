"""The shapes of answers, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """A JSON object with these members and no others."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(Shape):
    """What came, what was wanted, what to do."""

    code: str = Field(description="One word for programs.", examples=["bad_audio"])
    message: str = Field(description="A sentence for people.")
    file: str | None = Field(None, description="The recording to blame, by the name it came with.")


class Error(Shape):
    """Every answer with a status of 400 or more."""

    error: ErrorBody


class Health(Shape):
    """Whether the service takes requests."""

    status: Literal["ok", "stopping"]
    version: str


class LimitsShape(Shape):
    """How much a client may ask for."""

    files: int = Field(description="Recordings in a request.")
    bytes: int = Field(description="Bytes in the body of a request.")
    seconds: float = Field(description="The longest recording.")
    request_seconds: float = Field(description="How long a request may take.")
    formats: list[str] = Field(description="Kinds of recordings, by their suffix.")
    pcm: list[str] = Field(description="Forms of raw samples.")
    labels: int = Field(description="Labels in a list.")
    rows: int = Field(description="Embeddings in a calibration.")
    live: int = Field(description="Live streams at a time.")
    sites_pattern: str = Field(description="What a site may be called, as a regular expression.")


class EncoderShape(Shape):
    """What turns sound into embeddings."""

    id: str
    rate: int = Field(description="Hz.")
    window: float = Field(description="Seconds it hears at a time.")
    hop: float = Field(description="Seconds from one window to the next.")
    dim: int = Field(description="Numbers in an embedding.")


class SiteShape(Shape):
    """A place."""

    name: str
    encoder: EncoderShape
    labels: list[str]
    verdict: Literal["adapted", "shrunk", "zero-shot", "none"] = Field(
        description="What its calibration came to; 'none' where there was none."
    )
    reasons: list[str]
    weight: float | None = Field(description="How much of the correction is used, 0 to 1.")
    clips: int | None = Field(description="Recordings it was calibrated on.")
    date: str | None = Field(description="When, in ISO 8601.")


class SitesShape(Shape):
    """All places."""

    default: str
    sites: list[SiteShape]


class Scored(Shape):
    """A label and its cosine."""

    label: str
    score: float


class WindowShape(Shape):
    """One window of a recording; windows overlap."""

    start: float | None
    end: float | None
    label: str
    score: float
    zero_shot: str
    zero_shot_score: float


class FileError(Shape):
    """Why a recording could not be used."""

    code: str
    message: str


class FailedResult(Shape):
    """A recording that could not be used, among others that could."""

    file: str | None
    error: FileError


class LabelledResult(Shape):
    """What a site says of a recording."""

    file: str
    seconds: float
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
    timeline: list[WindowShape] | None = None
    error: None


class Classified(Shape):
    """Labels, in the order of the recordings."""

    site: str
    labels: list[str]
    adapted: bool = Field(description="Whether a correction took part.")
    results: list[LabelledResult | FailedResult]


class EmbeddedWindow(Shape):
    """The embedding of a window."""

    start: float
    end: float
    embedding: list[float]


class EmbeddedResult(Shape):
    """The embedding of a recording: a unit vector."""

    file: str
    seconds: float
    embedding: list[float]
    timeline: list[EmbeddedWindow] | None = None
    error: None


class Embedded(Shape):
    """Embeddings, in the order of the recordings."""

    encoder: str
    fingerprint: str
    dim: int
    results: list[EmbeddedResult | FailedResult]


class Accepted(Shape):
    """A calibration that was accepted."""

    job: str
    site: str
    url: str
    events: str


class ClassCount(Shape):
    """Recordings of a class before and after."""

    label: str
    before: int
    after: int


class ClipRow(Shape):
    """A recording before and after."""

    file: str
    zero_shot: str
    label: str
    score: float
    changed: bool


class View(Shape):
    """The embeddings in two dimensions, the same two before and after."""

    before: list[list[float]]
    after: list[list[float]]
    labels: list[int]
    zero_shot: list[int]


class CalibrationShape(Shape):
    """What a calibration found."""

    site: SiteShape
    clips: int
    skipped: list[FailedResult]
    changed: int = Field(description="Labels that are not what zero-shot said.")
    classes: list[ClassCount]
    clips_table: list[ClipRow]
    view: View


class JobShape(Shape):
    """A calibration on its way."""

    job: str
    site: str
    state: Literal["waiting", "running", "done", "failed"]
    stage: Literal["reading", "calibrating", "storing"] | None
    done: int
    total: int
    seconds_left: float | None
    error: ErrorBody | None
    result: CalibrationShape | None


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The descriptions of refusals for an operation; 401 and 403 belong to all of them."""
    return {
        status: {"model": Error, "description": _MEANING[status]}
        for status in sorted({*statuses, 401, 403})
    }


_MEANING = {
    400: "The body cannot be read: it is no form, or it breaks off.",
    401: "The service has a token, and the request did not show it.",
    403: "The request comes from a page of another origin, or asks for a foreign host.",
    404: "There is no such site, job or file.",
    408: "The request took longer than it may.",
    409: "The site cannot be removed or made: it is the default one, or there are too many.",
    413: "The body is too large, or holds too many recordings.",
    415: "The body is of a type that is not understood here.",
    422: "A parameter is wrong, or no recording can be used; the message says which and why.",
    429: "Too much at once; try again after the seconds in Retry-After.",
    503: "The service is stopping and takes nothing new.",
}

"""The parameters of requests, each described once, and the bodies that recordings come in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query

from prism_audio.audio.gate import HIGHEST_RATE, LOWEST_RATE
from prism_audio.serve.site import NAME
from prism_audio.serve.uploads import AUDIO, FIELD, JSON, MULTIPART, PCM

PcmForm = Literal["s16le", "s32le", "f32le"]

SiteQuery = Annotated[
    str | None,
    Query(description="The site; by default the service's default one.", examples=["default"]),
]
SiteName = Annotated[
    str,
    Query(
        pattern=NAME,
        description="The site to make, or whose adapter is to be replaced.",
        examples=["street"],
    ),
]
SitePath = Annotated[str, Path(description="The name of the site.", examples=["default"])]
JobPath = Annotated[
    str,
    Path(description="The number that the calibration was given.", examples=["0f3a9c1d22b84e67"]),
]
LabelList = Annotated[
    str | None,
    Query(
        description="A comma list that replaces the site's labels; quotes round one with a comma.",
        examples=["dog bark, siren, drilling"],
    ),
]
BackgroundList = Annotated[
    str | None,
    Query(
        description="A comma list that replaces the site's background words: they compete with the "
        "labels, and what they win is answered 'background'. Empty for none.",
        examples=["wind, traffic"],
    ),
]
Windows = Annotated[
    bool | None,
    Query(description="Look at windows instead of whole recordings; by default above 30 s."),
]
Timeline = Annotated[bool, Query(description="Answer for every window, too.")]
Top = Annotated[int, Query(ge=1, le=50, description="How many of the best classes to list.")]
Threshold = Annotated[
    float | None,
    Query(
        ge=-1,
        le=1,
        allow_inf_nan=False,
        description="The least cosine that convinces; by default the adapter's own.",
    ),
]
Rate = Annotated[int, Query(ge=LOWEST_RATE, le=HIGHEST_RATE, description="Hz of raw samples.")]
Format = Annotated[PcmForm, Query(description="Form of raw samples.")]
Channels = Annotated[int, Query(ge=1, le=32, description="Channels of raw samples, interleaved.")]
TakeWeaker = Annotated[
    bool, Query(description="Use the result even if it is weaker than the correction in use.")
]
Labelled = Annotated[
    bool, Query(description="Learn from the labels that are kept with the site, too.")
]
NewName = Annotated[str, Query(pattern=NAME, description="The new name.", examples=["yard"])]
Version = Annotated[
    int, Query(ge=0, le=10**6, description="A version of the site; 0 is plain zero-shot.")
]
AnyVersion = Annotated[
    int | None, Query(ge=1, le=10**6, description="A version; by default the one in use.")
]
Preset = Annotated[
    Literal["default", "paper", "released"], Query(description="The parameters of the calibration.")
]
Prompts = Annotated[
    Literal["sentences", "plain", "paper"] | None,
    Query(description="Sentences that labels are put into; by default the service's own."),
]

_FORM: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {
            FIELD: {
                "type": "array",
                "items": {"type": "string", "format": "binary"},
                "minItems": 1,
                "description": "Recordings: wav, flac, ogg, mp3 and what else /v1/limits names.",
            }
        },
        "required": [FIELD],
        "additionalProperties": False,
    }
}


def recordings_body(dim: int) -> dict[str, Any]:
    """The body of a request with recordings, for the OpenAPI document."""
    samples = {"schema": {"type": "string", "format": "binary"}}
    return _body({MULTIPART: _FORM, PCM: samples, AUDIO: samples, JSON: _rows(dim)})


def calibration_body(dim: int) -> dict[str, Any]:
    """The body of a calibration, for the OpenAPI document."""
    return _body({MULTIPART: _FORM, JSON: _rows(dim)})


def rows_body(dim: int) -> dict[str, Any]:
    """The body of a request about recordings that were sent before, for the OpenAPI document."""
    return _body({JSON: _rows(dim)})


def _rows(dim: int) -> dict[str, Any]:
    """Embeddings of this width, or ids of recordings that were sent before."""
    number = {"type": "number", "minimum": -1e6, "maximum": 1e6}
    row = {"type": "array", "items": number, "minItems": dim, "maxItems": dim}
    id = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
    choices: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {name: {"type": "array", "items": items, "minItems": 1}},
            "required": [name],
            "additionalProperties": False,
        }
        for name, items in (("embeddings", row), ("rows", id))
    ]
    choices[1]["properties"]["names"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "What to call the recordings in the answer, one name for every row.",
    }
    return {"schema": {"oneOf": choices}}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}

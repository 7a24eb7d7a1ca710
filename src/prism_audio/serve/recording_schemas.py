"""Answers about recordings: labels, embeddings, timelines. One definition to build and document them."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from prism_audio.labelling.labeller import Answer, Labeller
from prism_audio.serve.embed_recording import EmbeddedRecording
from prism_audio.serve.errors import ApiError


class Schema(BaseModel):
    """A JSON object with these members and no others."""

    model_config = ConfigDict(extra="forbid")


def example(value: dict[str, Any]) -> ConfigDict:
    """The configuration of a schema with an example for the OpenAPI document."""
    return ConfigDict(extra="forbid", json_schema_extra={"example": value})


class Scored(Schema):
    """A label and its cosine."""

    label: str
    score: float


class WindowLabel(Schema):
    """One window of a recording; windows overlap."""

    start: float
    end: float
    label: str
    score: float
    zero_shot: str
    zero_shot_score: float
    probability: float | None

    @classmethod
    def of(cls, start: float, end: float, answer: Answer) -> WindowLabel:
        """The label of the sound between two moments, in seconds."""
        short = answer.rounded()
        return cls(
            start=round(start, 3),
            end=round(end, 3),
            label=short.label,
            score=short.score,
            zero_shot=short.zero_shot,
            zero_shot_score=short.zero_shot_score,
            probability=short.probability,
        )


class FileError(Schema):
    """Why a recording could not be used."""

    code: str
    message: str


class FailedRecording(Schema):
    """A recording that could not be used, among others that could."""

    file: str | None
    error: FileError

    @classmethod
    def of(cls, error: ApiError) -> FailedRecording:
        """From the error that was raised for it."""
        return cls(file=error.file, error=FileError(code=error.code, message=str(error)))


class LabelledRecording(Schema):
    """What a site says of a recording."""

    file: str
    row: str | None = Field(
        None, description="The id of its embedding, to be asked again without its sound."
    )
    seconds: float | None
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
    timeline: list[WindowLabel] | None = None
    error: None = None

    @classmethod
    def of(
        cls, recording: EmbeddedRecording, labeller: Labeller, top: int, timeline: bool
    ) -> LabelledRecording:
        """Label a recording, and its windows where a timeline is wanted."""
        answer = labeller.answer_one(recording.embedding, top).rounded()
        return cls(
            file=recording.file,
            row=recording.row or None,
            seconds=recording.seconds,
            label=answer.label,
            score=answer.score,
            zero_shot=answer.zero_shot,
            zero_shot_score=answer.zero_shot_score,
            probability=answer.probability,
            runner_up=answer.runner_up,
            margin=answer.margin,
            top=[Scored(label=label, score=score) for label, score in answer.top],
            unknown=not answer.convinced,
            timeline=_timeline(recording, labeller) if timeline else None,
        )


def _timeline(recording: EmbeddedRecording, labeller: Labeller) -> list[WindowLabel]:
    answers = labeller.answer(recording.windows) if len(recording.end) else []
    return [
        WindowLabel.of(float(start), float(end), answer)
        for start, end, answer in zip(recording.start, recording.end, answers, strict=True)
    ]


class Classified(Schema):
    """Labels, in the order of the recordings."""

    model_config = example(
        {
            "site": "street",
            "labels": ["dog bark", "siren"],
            "adapted": True,
            "results": [
                {
                    "file": "gate.wav",
                    "row": "9b1c2f70a4d35e68f07a1b2c3d4e5f60",
                    "seconds": 5.0,
                    "label": "siren",
                    "score": 0.41,
                    "zero_shot": "dog bark",
                    "zero_shot_score": 0.12,
                    "probability": 0.87,
                    "runner_up": "dog bark",
                    "margin": 0.2,
                    "top": [
                        {"label": "siren", "score": 0.41},
                        {"label": "dog bark", "score": 0.21},
                    ],
                    "unknown": False,
                    "error": None,
                },
                {
                    "file": "notes.txt",
                    "error": {
                        "code": "bad_audio",
                        "message": "its bytes are not those of a wav file",
                    },
                },
            ],
        }
    )

    site: str
    labels: list[str]
    adapted: bool = Field(description="Whether a correction took part.")
    results: list[LabelledRecording | FailedRecording]


class EmbeddedWindow(Schema):
    """The embedding of a window."""

    start: float
    end: float
    embedding: list[float]


class RecordingEmbedding(Schema):
    """The embedding of a recording: a unit vector."""

    file: str
    row: str | None = Field(description="The id of the embedding.")
    seconds: float | None
    embedding: list[float]
    timeline: list[EmbeddedWindow] | None = None
    error: None = None

    @classmethod
    def of(cls, recording: EmbeddedRecording, timeline: bool) -> RecordingEmbedding:
        """The embedding of a recording, and of its windows where a timeline is wanted."""
        return cls(
            file=recording.file,
            row=recording.row or None,
            seconds=recording.seconds,
            embedding=_numbers(recording.embedding),
            timeline=_window_embeddings(recording) if timeline else None,
        )


def _window_embeddings(recording: EmbeddedRecording) -> list[EmbeddedWindow]:
    windows = zip(recording.start, recording.end, recording.windows, strict=True)
    return [
        EmbeddedWindow(
            start=round(float(start), 3), end=round(float(end), 3), embedding=_numbers(row)
        )
        for start, end, row in windows
    ]


class Embedded(Schema):
    """Embeddings, in the order of the recordings."""

    model_config = example(
        {
            "encoder": "concepts",
            "fingerprint": "5d0c1f0e",
            "dim": 3,
            "results": [
                {
                    "file": "gate.wav",
                    "row": "9b1c2f70a4d35e68f07a1b2c3d4e5f60",
                    "seconds": 5.0,
                    "embedding": [0.6, 0, -0.8],
                    "error": None,
                }
            ],
        }
    )

    encoder: str
    fingerprint: str
    dim: int
    results: list[RecordingEmbedding | FailedRecording]


def _numbers(vector: np.ndarray) -> list[float]:
    """A float32 vector with no more digits than it has."""
    return [float(str(value)) for value in vector]

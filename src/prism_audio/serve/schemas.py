"""JSON that several routes share: the base of all answers, and why a recording could not be used."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from prism_audio.serve.errors import ApiError


class Schema(BaseModel):
    """A JSON object with these members and no others."""

    model_config = ConfigDict(extra="forbid")


def example(value: dict[str, Any]) -> ConfigDict:
    """The configuration of a schema with an example for the OpenAPI document."""
    return ConfigDict(extra="forbid", json_schema_extra={"example": value})


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

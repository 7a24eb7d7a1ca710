"""The JSON files in a CLAP model's folder: what the model is, and how it wants its sound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prism_audio.encoders.clap.mel import MelFrontEnd
from prism_audio.errors import AssetError


def read_config(folder: Path) -> dict[str, Any]:
    """The content of ``config.json``, which must be that of a CLAP model."""
    path = folder / "config.json"
    if not path.is_file():
        raise AssetError(f"{folder} holds no model in the hub's format: config.json is not there")
    config = _read(path)
    if config.get("model_type") != "clap":
        raise AssetError(
            f"{folder} holds a model of type {config.get('model_type')!r}; CLAP was wanted"
        )
    return config


def read_front_end(folder: Path) -> MelFrontEnd:
    """The front end that the folder's extractor file describes."""
    names = ("preprocessor_config.json", "processor_config.json")
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise AssetError(f"{folder} holds neither {names[0]} nor {names[1]}; copy the file there")
    settings = _read(path)
    if path.name == names[1]:  # there the extractor is one part among others
        settings = settings.get("feature_extractor") or {"feature_extractor_type": "no extractor"}
    if settings.get("feature_extractor_type", "ClapFeatureExtractor") != "ClapFeatureExtractor":
        raise AssetError(f"{path} is for {settings['feature_extractor_type']}, not for CLAP")
    try:
        return MelFrontEnd.of(settings)
    except AssetError as error:
        raise AssetError(f"{path}: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AssetError(f"{path} cannot be read as JSON ({error}); fetch it again") from error
    if not isinstance(content, dict):
        raise AssetError(f"{path} holds no JSON object; fetch it again")
    return content

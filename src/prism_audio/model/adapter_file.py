"""The file of an adapter: one safetensors file, checked from the first byte before it is believed."""

from __future__ import annotations

import base64
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from prism_audio.errors import AdapterError, InputError, PrismWarning
from prism_audio.io.safe_tensors import (
    MAX_HEADER,
    TensorFileError,
    dump,
    parse_json,
    read_header,
)

FORMAT = "prism-adapter"
# Files of schema 1 have the centres for drift as text in the card.
SCHEMA, READABLE = 2, ("1", "2")
# A map of d = 8192 in float64 is half of this.
MAX_BYTES = 2**30

_TEXT = ("encoder", "encoder_fingerprint", "prompts", "prompts_fingerprint")


def payload_of(tensors: dict[str, np.ndarray], card: dict[str, Any]) -> bytes:
    """The bytes of a file with these tensors and this card."""
    metadata = {"format": FORMAT, "schema": str(SCHEMA), "card": json.dumps(card)}
    data = dump(tensors, metadata)
    if int.from_bytes(data[:8], "little") > MAX_HEADER:
        raise InputError(
            f"the labels and facts of an adapter take more than {MAX_HEADER:,} bytes; use fewer or "
            "shorter labels"
        )
    return data


def read_card(text: str, centres: np.ndarray | None) -> dict[str, Any]:
    """The card of a file, with every entry of the right type, and the centres among its facts."""
    try:
        card = parse_json(text)
        # A label that is no text, such as half of a surrogate pair, could never be printed.
        json.dumps(card, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise AdapterError("its card holds text that is no valid Unicode") from None
    except ValueError as error:
        raise AdapterError(f"its card cannot be read ({error})") from None
    if not isinstance(card, dict):
        raise AdapterError("its card is no object")
    for name in ("labels", *_TEXT, "parameters", "facts"):
        if name not in card:
            raise AdapterError(f"lacks {name!r}")
        if name == "labels":
            _check_labels(card["labels"])
    if not all(isinstance(card[name], str) for name in _TEXT):
        raise AdapterError(f"{', '.join(_TEXT)} are not all strings")
    if not isinstance(card["parameters"], dict):
        raise AdapterError("its parameters are no object")
    if isinstance(card["facts"], dict) and isinstance(card["facts"].get("surroundings"), dict):
        _put_centres(card["facts"]["surroundings"], centres)
    return card


def _put_centres(surroundings: dict[str, Any], centres: np.ndarray | None) -> None:
    """Centres for drift where the facts expect them: a tensor, or Base64 in files of schema 1."""
    text, classes = surroundings.get("centres"), surroundings.get("classes")
    if centres is not None:
        surroundings["centres"] = centres
    elif isinstance(text, str) and isinstance(classes, list):
        numbers = np.frombuffer(base64.b64decode(text), np.float16)
        surroundings["centres"] = numbers.reshape(len(classes) + 1, -1)


def _check_labels(labels: Any) -> None:
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise AdapterError("the labels are not a list of strings")
    if not labels:
        raise AdapterError("it has no classes")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise AdapterError(f"two classes are called {twice!r}")


def read_file(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Metadata and tensors of a safetensors file after every check that needs no understanding."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise AdapterError(
                f"{path} is oversized: {size} bytes, an adapter has at most {MAX_BYTES}"
            )
        header = read_header(path)
        metadata = header.metadata
        if metadata.get("format") != FORMAT:
            raise AdapterError(f"{path} is no PRISM adapter: a safetensors file of another kind")
        if metadata.get("schema") not in READABLE:
            raise AdapterError(
                f"{path} has schema {metadata.get('schema')}, this version reads {SCHEMA}; "
                "update prism-audio or calibrate the place again"
            )
        intact = header.is_intact()
        if intact is False:
            raise AdapterError(
                f"{path} is damaged: its content does not fit its hash; copy it again, or calibrate "
                "the place again"
            )
        tensors = {name: header.read(name) for name in header.tensors}
    except OSError as error:
        raise AdapterError(f"cannot read {path}: {error.strerror or error}") from None
    except TensorFileError as error:
        raise AdapterError(
            f"{path} is no PRISM adapter, or a damaged one: {error}; copy it again"
        ) from None
    if intact is None:
        warnings.warn(
            f"{path} was written by an older version without a hash; damage to its numbers would "
            "not be noticed",
            PrismWarning,
            stacklevel=3,
        )
    return metadata, tensors

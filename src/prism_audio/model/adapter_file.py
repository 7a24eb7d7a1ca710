"""The file of an adapter: one safetensors file, checked from the first byte before it is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from prism_audio.errors import AdapterError

FORMAT = "prism-adapter"
SCHEMA = 1
# A map of d = 8192 in float64 is half of this.
MAX_BYTES = 2**30

_TEXT = ("encoder", "encoder_fingerprint", "prompts", "prompts_fingerprint")


def payload_of(tensors: dict[str, np.ndarray], card: dict[str, Any]) -> bytes:
    """The bytes of a file with these tensors and this card."""
    from safetensors.numpy import save

    metadata = {"format": FORMAT, "schema": str(SCHEMA), "card": json.dumps(card)}
    return save({name: np.ascontiguousarray(array) for name, array in tensors.items()}, metadata)


def read_card(text: str) -> dict[str, Any]:
    """The card of a file, with every entry of the right type."""
    try:
        card = json.loads(text)
        # A label that is no text, such as half of a surrogate pair, could never be printed.
        json.dumps(card, ensure_ascii=False).encode()
    except RecursionError:
        raise AdapterError("its card is nested too deeply") from None
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
    return card


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
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise AdapterError(
                f"{path} is oversized: {size} bytes, an adapter has at most {MAX_BYTES}"
            )
        payload = path.read_bytes()
    except OSError as error:
        raise AdapterError(f"cannot read {path}: {error.strerror or error}") from None
    foreign = f"{path} is no PRISM adapter"
    header_size = int.from_bytes(payload[:8], "little")
    if len(payload) < 10 or payload[8:9] != b"{" or header_size > 2**27:
        raise AdapterError(f"{foreign}: it is not a safetensors file")
    if len(payload) < 8 + header_size:
        raise AdapterError(f"{path} is truncated: its header is cut off; copy it anew")
    try:
        header = json.loads(payload[8 : 8 + header_size])
        metadata = header.get("__metadata__", {})
        ends = [v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"]
        wanted = 8 + header_size + max(ends, default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise AdapterError(f"{foreign}: its header cannot be read") from None
    if metadata.get("format") != FORMAT:
        raise AdapterError(f"{foreign}: a safetensors file of another kind")
    if len(payload) < wanted:
        raise AdapterError(f"{path} is truncated: {len(payload)} of {wanted} bytes; copy it anew")
    if len(payload) > wanted:
        raise AdapterError(f"{path} is oversized: {len(payload) - wanted} bytes after its end")
    if metadata.get("schema") != str(SCHEMA):
        raise AdapterError(
            f"{path} has schema {metadata.get('schema')}, this version reads {SCHEMA}; "
            "update prism-audio or calibrate the place again"
        )
    try:
        return metadata, load(payload)
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise AdapterError(f"{path} is damaged: {error}; copy it anew") from None

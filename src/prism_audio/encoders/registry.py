"""Encoders by name: those that installed packages register as entry points, and CLAP models."""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any

from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError, PrismError

ENTRY_POINTS = "prism_audio.encoders"
DEFAULT = "concepts"


def load_encoder(name: str | os.PathLike[str] = DEFAULT, **options: Any) -> Encoder:
    """Make the encoder of that name.

    Parameters
    ----------
    name : str or path
        The name of a registered encoder (any installed package can register one as an entry point
        of the group ``prism_audio.encoders``); ``NAME:SOURCE`` for one that takes a source, as in
        ``onnx:Xenova/clap-htsat-unfused``; or a CLAP model: a hub id such as
        ``laion/clap-htsat-fused``, a folder, or LAION's ``.pt`` file.
    **options
        Passed to the encoder.

    Raises
    ------
    InputError
        When no encoder has that name; the message lists those there are.
    """
    known = {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}
    text = os.fspath(name)
    is_path = not isinstance(name, str) or "/" in text or os.sep in text or os.path.exists(text)
    prefix, _, source = text.partition(":")
    if text in known:
        chosen = text
    elif source and prefix in known:
        chosen, options = prefix, {"source": source, **options}
    elif is_path and "clap" in known:
        chosen, options = "clap", {"source": text, **options}
    else:
        raise InputError(
            f"there is no encoder {text!r}. Known are {', '.join(sorted(known)) or 'none'}; a CLAP "
            "model is named by its hub id (laion/clap-htsat-fused), its folder or its .pt file."
        )
    try:
        make = known[chosen].load()
    except (ImportError, AttributeError) as error:
        raise PrismError(
            f"the encoder {chosen!r} ({known[chosen].value}) cannot be imported: {error}. "
            "Install what it needs, or another version of the package that offers it."
        ) from error
    encoder = make(**options)
    if not isinstance(encoder, Encoder):
        raise PrismError(
            f"{known[chosen].value} made a {type(encoder).__name__}, which lacks a part of the "
            "protocol in prism_audio.encoders.protocol.Encoder."
        )
    return encoder

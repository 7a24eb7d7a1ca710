"""Sources as a user writes them: ``mic``, ``-``, a path or an address.

A name may stand before it: ``garden=rtsp://camera.local/stream``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO
from urllib.parse import urlsplit

from prism_audio.audio.network import NetworkStream
from prism_audio.errors import InputError
from prism_audio.io.text import slug
from prism_audio.station.sources import File, Folder, Microphone, Network, RawSamples, Source


@dataclass(frozen=True)
class InputSettings:
    """How raw samples and microphones are read."""

    stdin: Callable[[], BinaryIO]
    rate: int | None = None
    form: str = "s16le"
    channels: int = 1
    device: str | None = None


def parse_source(text: str, settings: InputSettings) -> Source:
    """The source that a user means; raises where there is none."""
    name, address = None, text
    match = re.match(r"([A-Za-z0-9][\w-]*)=(.+)", text, re.ASCII | re.DOTALL)
    if match and not Path(text).exists():
        name, address = match.groups()
    if address == "mic":
        return Microphone(name or "mic", settings.device)
    if address == "-":
        if settings.rate is None:
            raise InputError("raw samples do not tell their rate; say it, for example --rate 16000")
        return RawSamples(
            name or "stdin", settings.stdin(), settings.rate, settings.form, settings.channels
        )
    if "://" in address:
        NetworkStream(address)  # refuses what is no stream
        parts = urlsplit(address)
        return Network(name or slug(f"{parts.hostname}{parts.path}"), address)
    path = Path(address)
    if path.is_dir():
        return Folder(name or slug(path.resolve().name), path)
    if not path.is_file():
        raise InputError(f"{address}: there is no such recording or folder")
    return File(name or slug(PurePath(address).stem), path)


def parse_sources(texts: Sequence[str], settings: InputSettings) -> list[Source]:
    """All of them; two of one name are refused."""
    sources = [parse_source(text, settings) for text in texts]
    names = [source.name for source in sources]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"two sources are called {twice!r}; give them names, for example front={texts[0]}"
        )
    return sources

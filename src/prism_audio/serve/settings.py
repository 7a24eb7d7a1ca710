"""What an operator decides: encoder, places, where they are kept, who may come in, how much at once."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prism_audio.encoders.protocol import Encoder

# Sounds of many places, so that the page answers something before anybody has typed a label.
DEFAULT_LABELS = (
    "speech, music, dog bark, bird song, car, siren, footsteps, rain, wind, machine, door, silence"
)


@dataclass(frozen=True)
class Limits:
    """How much a client may ask for.

    Attributes
    ----------
    files, bytes : int
        Recordings in a request, and bytes of its body.
    seconds : float
        The longest recording, found out while it is decoded, whatever its header says.
    request_seconds : float
        How long a request may take, from its first byte to its answer; a large body gets a second
        more for every 100 KB.
    labels, label_characters : int
        Labels in a list, and characters in one.
    rows : int
        Embeddings in a calibration.
    requests, client_requests, jobs, live : int
        Requests that are being answered, those of one client, calibrations that wait, live streams;
        more are refused.
    """

    files: int = 1000
    bytes: int = 1024 * 2**20
    seconds: float = 6 * 3600.0
    request_seconds: float = 120.0
    labels: int = 200
    label_characters: int = 200
    rows: int = 20_000
    requests: int = 128
    client_requests: int = 64
    jobs: int = 8
    live: int = 16


@dataclass(frozen=True)
class ServiceSettings:
    """A service.

    Attributes
    ----------
    adapters : tuple of paths
        Saved places; the first is the default one. Without any, the default is zero-shot.
    labels : str, optional
        What the zero-shot default listens for, as on the command line.
    encoder : str or Encoder, optional
        What embeds; by default that of the first adapter, or the embedded one.
    prompts : str
        Sentences that labels are put into.
    store : path, optional
        A folder for calibrated places; without one they are gone when the service ends.
    token : str, optional
        What clients must show.
    host : str
        The address it is bound to.
    hosts : tuple of str
        Further names that clients may call it by (the Host header); ``*`` allows all.
    root_path : str
        The path below which a proxy shows it, such as ``/prism``.
    proxy : bool
        Whether a proxy stands before it, whose X-Forwarded headers are believed.
    limits : Limits
        How much a client may ask for.
    """

    adapters: tuple[Path, ...] = ()
    labels: str | None = None
    encoder: str | Encoder | None = None
    prompts: str = "sentences"
    store: Path | None = None
    token: str | None = None
    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    proxy: bool = False
    limits: Limits = field(default_factory=Limits)


def is_loopback(host: str) -> bool:
    """Whether an address or name reaches this machine alone."""
    if is_address(host.strip("[]")):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def is_address(name: str) -> bool:
    """Whether a host is given by its address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

"""Connect to a Ray cluster that is running, or start one on this machine."""

from __future__ import annotations

import logging
import os
import socket

from prism_audio.errors import PrismError
from prism_audio.io.stderr import no_stderr

# Environment variables that workers need: they say where model files are kept. They are listed by
# name, because a cluster shows them to all its users and variables with similar names hold secrets.
PASSED_ON = ("PRISM_CACHE", "PRISM_ASSETS", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE")
# Read when Ray is imported: no report of its use to its makers, and no message for every worker that
# it replaces.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
}


def connect(address: str | None = None) -> None:
    """Join a Ray cluster, or start one on this machine that ends with this process.

    A process that has joined a cluster stays with it; asking again changes nothing.

    Parameters
    ----------
    address : str, optional
        The address of a running cluster (``host:port``, or ``auto`` on one of its machines); by
        default the environment variable ``RAY_ADDRESS``, else a new cluster on this machine.

    Raises
    ------
    PrismError
        When Ray is not installed, or nothing answers at the address.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise PrismError(
            f"the engine ray needs the package {error.name}: pip install 'prism-audio[ray]'"
        ) from error
    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    try:
        _check_reachable(address)
        with no_stderr():
            ray.init(
                address=address,
                runtime_env={"env_vars": passed_on},
                include_dashboard=False if address == "local" else None,
                ignore_reinit_error=True,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise PrismError(
            f"no Ray cluster could be reached or started at {address!r} ({error}). Check the "
            "address of its head, host:port; if it asks for a token, set RAY_AUTH_MODE=token and "
            "the token as its other users do; or leave the address out to use this machine alone."
        ) from error


def _check_reachable(address: str) -> None:
    """Raise an OSError if nothing listens there; Ray itself would wait for many minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()

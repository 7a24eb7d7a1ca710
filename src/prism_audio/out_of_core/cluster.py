"""Connect to a Ray cluster that is running, or start a private one; and run tasks on it.

A private cluster listens on the loopback interface alone, runs no dashboard, and leaves neither
processes nor files behind, however this process ends.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from prism_audio.errors import PrismError
from prism_audio.io.stderr import no_stderr
from prism_audio.out_of_core import cleanup

# Environment variables that workers need: they say where model files are kept. They are listed by
# name, because a cluster shows them to all its users and variables with similar names hold secrets.
PASSED_ON = ("PRISM_CACHE", "PRISM_ASSETS", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE")
# Read when Ray is imported: no report of its use to its makers, no message for every worker that it
# replaces, and enough time to start on a busy machine.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_agent_register_timeout_ms": "120000",
    "RAY_worker_register_timeout_seconds": "120",
}
# Ray starts these even where nobody asked for them: the dashboard's server, the autoscaler, and what
# prints the logs of workers.
_NOT_NEEDED = ("start_api_server", "start_monitor", "start_log_monitor")
# Tasks in flight for every one that there is room for: one that runs, one that waits.
AHEAD = 2
# They live as long as this process holds their input open.
_cleaners: list[subprocess.Popen[bytes]] = []


def connect(address: str | None = None) -> None:
    """Join a Ray cluster, or start one on this machine that ends with this process.

    A process that has joined a cluster stays with it; asking again changes nothing. The ``address`` is
    ``host:port``, or ``auto`` on one of the cluster's machines; by default the environment variable
    ``RAY_ADDRESS``, else a new cluster on this machine.
    """
    ray = import_ray()
    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    options: dict[str, Any] = {
        "address": address,
        "runtime_env": {"env_vars": passed_on},
        "ignore_reinit_error": True,
        "logging_level": logging.ERROR,
        "log_to_driver": False,
    }
    try:
        if address == "local":
            start_private(**options)
        else:
            _check_reachable(address)
            with no_stderr():
                ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise PrismError(
            f"no Ray cluster could be reached or started at {address!r} ({error}). Check the "
            "address of its head, host:port; if it asks for a token, set RAY_AUTH_MODE=token and "
            "the token as its other users do; or leave the address out to use this machine alone."
        ) from error


def on_cluster(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    cores: int = 1,
    most: int | None = None,
) -> Iterator[Any]:
    """The results of all calls, in order; each takes so many ``cores``, and ``most`` run at a time."""
    ray = import_ray()
    there = max(1, int(ray.cluster_resources().get("CPU", 1)))
    task = ray.remote(max_retries=-1, num_cpus=min(cores, there))(function)
    limit = most or AHEAD * max(1, there // cores)
    running: deque[Any] = deque()
    try:
        for call in calls:
            if len(running) >= limit:
                yield _result(ray, running.popleft())
            running.append(task.remote(*call))
        while running:
            yield _result(ray, running.popleft())
    finally:
        for reference in running:  # the caller has had enough, or one has failed
            ray.cancel(reference)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        # What the task raised lies within, under pages of trace.
        cause = getattr(error, "cause", None)
        if isinstance(cause, PrismError):
            raise cause from None
        reason = cause or str(error).strip().splitlines()[-1]
        raise PrismError(
            f"a task of the Ray cluster failed: {reason}; correct this, then run the same command "
            "again"
        ) from error


def import_ray() -> Any:
    """The package ``ray``, with settings that it reads when it is imported."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise PrismError(
            f"the engine ray needs the package {error.name}: pip install 'prism-audio[ray]'"
        ) from error
    return ray


def start_private(**options: Any) -> None:
    """Start a cluster of this machine's cores; ``options`` are those of ``ray.init``."""
    ray = import_ray()
    # Not below the user's TMPDIR: the paths of Ray's sockets must be short.
    parent = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.name == "posix" else None)
    folder = tempfile.mkdtemp(prefix="prism-ray-", dir=parent)
    _cleaners.append(
        subprocess.Popen(
            [sys.executable, "-I", "-S", cleanup.__file__, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    )
    options = {"address": "local", "include_dashboard": False, **options}
    try:
        with no_stderr(), _kept_private():
            ray.init(_temp_dir=folder, **options)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if type(error) is Exception:  # Ray has no kind of its own for a start that takes too long
            raise RuntimeError(error) from error
        raise


@contextmanager
def _kept_private() -> Iterator[None]:
    """Let Ray start as it does on a laptop: on the loopback interface, and only what it needs."""
    from ray._private import node, ray_constants

    with patch.object(ray_constants, "ENABLE_RAY_CLUSTER", False):
        patches = [patch.object(node.Node, name, lambda *_, **__: None) for name in _NOT_NEEDED]
        for change in patches:
            change.start()
        try:
            yield
        finally:
            for change in patches:
                change.stop()


def _check_reachable(address: str) -> None:
    """Raise an OSError if nothing listens there; Ray itself would wait for many minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()

"""A service in this process, with the cheap encoder; and the installed command, for a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service needs the extra [serve]")

from starlette.testclient import TestClient

from prism_audio.labelling.batch import Batch
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve import calibration_process
from prism_audio.serve.app import create_app
from prism_audio.serve.settings import Limits, ServiceSettings
from tests.cli.conftest import Prism, prism
from tests.helpers.bands import LABELS, BandEncoder
from tests.helpers.processes import Served

__all__ = ["prism"]

Serve = Callable[..., TestClient]
# Seconds that a recording may have at the shared service.
LONGEST = 60


async def in_this_process(batch: Batch, words: Vocabulary, **options: Any) -> Any:
    """A calibration without the seconds that a new process takes to start."""
    folder = options["folder"]
    asked = (options[name] for name in ("place", "preset", "y"))
    request = calibration_process.request_of(batch, words, *asked)
    calibration_process.write(folder, batch, words, request)
    await asyncio.to_thread(calibration_process.work, folder)
    return calibration_process.read(folder)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start services; options are those of :class:`ServiceSettings`, or limits."""
    started: list[TestClient] = []
    monkeypatch.setattr("prism_audio.serve.calibration_job.run_calibration", in_this_process)

    def start(**options: Any) -> TestClient:
        held = {field.name for field in fields(Limits)} - {
            field.name for field in fields(ServiceSettings)
        }
        limits = {name: options.pop(name) for name in held & set(options)}
        options = {"encoder": BandEncoder(), "store": tmp_path / "store", **options}
        if not options.get("adapters"):
            options.setdefault("labels", LABELS)
        # One store has one service: a restart ends the one before.
        for earlier in [
            c for c in started if c.app.state.service.settings.store == options["store"]
        ]:
            started.remove(earlier)
            earlier.__exit__(None, None, None)
        app = create_app(ServiceSettings(limits=Limits(**limits), **options))
        root = options.get("root_path", "")
        client = TestClient(app, base_url="http://localhost", root_path=root)
        started.append(client.__enter__())
        return client

    yield start
    for client in started:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Serve) -> TestClient:
    """A service with the usual settings."""
    return serve()


@pytest.fixture(scope="session")
def served(prism: Prism, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A real service that several tests share; none of them may stop it."""
    store = tmp_path_factory.mktemp("store")
    with Served(prism, "--store", store, "--max-seconds", LONGEST) as running:
        yield running
        done = running.stop()
        assert done.returncode == 0, done.stderr

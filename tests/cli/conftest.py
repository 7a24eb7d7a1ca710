"""The command ``prism``, in a process of its own or in this one, with the cheap encoder known to it."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from prism_audio.cli import main
from tests.helpers.bands import LABELS, recordings

ROOT = Path(__file__).parents[2]


class Prism:
    """Run ``prism``; results have ``returncode``, ``stdout`` and ``stderr``."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        script = Path(sys.executable).with_name("prism")
        call = [sys.executable, "-c", "from prism_audio.cli import main; main()"]
        self.command = [str(script)] if script.exists() else call

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run in this process, which saves the start of another."""
        out, err = io.StringIO(), io.StringIO()
        call = ["prism", *map(str, arguments)]
        with (
            patch.dict(os.environ, self.environment, clear=True),
            patch.object(sys, "argv", call),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as stop,
        ):
            main()
        code = int(stop.value.code or 0)
        return subprocess.CompletedProcess(call, code, out.getvalue(), err.getvalue())

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        """Begin a run."""
        return subprocess.Popen(
            [*self.command, *map(str, arguments)],
            env=options.pop("env", self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def interrupted(
        self, mark: Path, number: int, *arguments: object, pause: float = 1.0, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Begin a run, wait until the encoder is at work, and send it a signal.

        ``mark`` is a name for a file of no meaning, ``pause`` how long every batch takes.
        """
        busy = {"BANDS_MARK": str(mark), "BANDS_PAUSE": str(pause)}
        process = self.start(*arguments, env={**self.environment, **busy}, **options)
        deadline = time.monotonic() + 60
        while not mark.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        return self.finish(process)

    def process(
        self, *arguments: object, stdin: bytes | None = None, largest: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run in a process of its own, where standard input, limits or the exit itself matter.

        ``largest`` is the most bytes that fit into a file, as on a full disk.
        """
        options: dict[str, Any] = {}
        if largest is not None:
            limit = (largest, largest)
            options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        return self.finish(process, stdin)

    def finish(
        self, process: subprocess.Popen[bytes], stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Wait for the end of a run; no run may show a traceback."""
        try:
            out, err = process.communicate(stdin, timeout=120)
        finally:
            process.kill()
        done = subprocess.CompletedProcess(
            process.args, process.returncode, out.decode(), err.decode()
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture(scope="session")
def prism(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prism]:
    """The command; ``--encoder bands`` and ``bands-other`` are installed for it."""
    site = tmp_path_factory.mktemp("installed")
    about = site / "bands-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bands\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[prism_audio.encoders]\n"
        "bands = tests.helpers.bands:BandEncoder\n"
        "bands-other = tests.helpers.bands:OtherEncoder\n"
    )
    search = [str(ROOT), str(site), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, search))
    environment.pop("FORCE_COLOR", None)
    with patch.object(sys, "path", [str(site), *sys.path]):
        yield Prism(environment)


@pytest.fixture(scope="session")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 24 recordings of three classes; not to be written to."""
    return recordings(tmp_path_factory.mktemp("sounds") / "street")


@pytest.fixture(scope="session")
def site(prism: Prism, sounds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter for them."""
    path = tmp_path_factory.mktemp("site") / "site.safetensors"
    call = ("calibrate", sounds, "-l", LABELS, "--encoder", "bands", "--preset", "paper")
    done = prism(*call, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def refused(prism: Prism) -> Callable[..., str]:
    """Check that a run is wrong usage: exit code 2, nothing on standard output; gives the message."""

    def check(*arguments: object) -> str:
        done = prism(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), done
        return " ".join(done.stderr.split())

    return check


def left_over(folder: Path) -> list[str]:
    """Everything in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())

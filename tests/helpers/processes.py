"""A real service: the installed command in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cli.conftest import Prism
from tests.helpers.bands import LABELS


class Served:
    """A running ``prism serve`` with the cheap encoder; use it in a ``with`` statement.

    Attributes
    ----------
    url : str
        Where it listens, without a slash at the end.
    process : Popen
        The process.
    """

    def __init__(self, prism: Prism, *arguments: object, **environment: str) -> None:
        call = ("serve", "--encoder", "bands", "--port", 0, "--json", *arguments)
        if "--adapter" not in arguments:
            call += ("--labels", LABELS)
        self._prism = prism
        self.process = prism.start(*call, env={**prism.environment, **environment})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(prism.finish(self.process).stderr)
        self.about: dict[str, Any] = json.loads(line)
        self.url = self.about["url"].rstrip("/")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    @property
    def peak_bytes(self) -> int:
        """The most memory it ever held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])

    def stop(self) -> subprocess.CompletedProcess[str]:
        """Ask it to end, and wait until it has; no run may show a traceback."""
        self.process.send_signal(signal.SIGTERM)
        return self._prism.finish(self.process)

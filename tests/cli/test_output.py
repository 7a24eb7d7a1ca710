"""Standard output that cannot be written to: a full disk behind it, or nobody there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Prism


@pytest.mark.parametrize("form", [(), ("--json",), ("--markdown",)])
def test_full_disk_behind_standard_output(prism: Prism, site: Path, form: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no disk that is always full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*prism.command, "inspect", site, *form],
            env=prism.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "No space left" in done.stderr


def test_reader_that_has_gone(prism: Prism, site: Path) -> None:
    process = prism.start("inspect", site)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.wait(timeout=60)

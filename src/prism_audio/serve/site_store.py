"""The store of a service's sites: a folder of adapters with their history, used by one process."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from prism_audio.errors import AdapterError, PrismError
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import SUFFIX, AdapterStore
from prism_audio.serve.errors import ApiError

# How temporary folders are called: of a service without a store, and of a calibration.
_TEMPORARY, _WORK = "prism-sites-", ".work-"
# Seconds after which a temporary folder that nobody has locked was left behind.
_STALE_SECONDS = 60.0


class SiteStore(AdapterStore):
    """A folder with sites; without one, a temporary folder that ends with the service.

    What a service left behind that was killed is removed when the next one starts.

    Raises
    ------
    PrismError
        Where the folder cannot be used, or another service uses it.
    """

    def __init__(self, folder: Path | None) -> None:
        self._temporary = None
        if not folder:
            _remove_stale()
            self._temporary = tempfile.TemporaryDirectory(prefix=_TEMPORARY)
        super().__init__(folder or Path(self._temporary.name))  # type: ignore[union-attr]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / ".lock").open("w")
        except OSError as error:
            raise PrismError(
                f"cannot use the store {folder}: {error.strerror or error}; give another --store"
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PrismError(
                f"another service uses the store {folder}: sites live in one process, so run one "
                "worker for each store, or give another --store"
            ) from None
        for left in self.folder.glob(f"{_WORK}*"):
            shutil.rmtree(left, ignore_errors=True)

    def work_folder(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for the length of a block, in which a process that is given up may still write."""
        try:
            return tempfile.TemporaryDirectory(
                prefix=_WORK, dir=self.folder, ignore_cleanup_errors=True
            )
        except OSError as error:
            raise PrismError(f"cannot write {self.folder}: {error.strerror or error}") from None

    def close(self) -> None:
        """Let another service use the folder."""
        self._lock.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def adapter(self, name: str, version: int) -> Adapter:
        """The adapter of one version."""
        try:
            return super().adapter(name, version)
        except AdapterError as error:
            raise ApiError(404, "unknown_version", str(error)) from None


def _remove_stale() -> None:
    """Remove temporary folders of services that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*"):
        with suppress(OSError):  # somebody uses it, or it is not ours
            found = folder.lstat()
            if found.st_uid != os.getuid() or time.time() - found.st_mtime < _STALE_SECONDS:
                continue
            with (folder / ".lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)


def file_bytes(adapter: Adapter) -> bytes:
    """The bytes of an adapter's file."""
    with tempfile.TemporaryDirectory(prefix="prism-") as folder:
        return adapter.save(Path(folder) / f"site{SUFFIX}").read_bytes()


def read_bytes(content: bytes) -> Adapter:
    """The adapter in the bytes of a file, checked like any other."""
    with tempfile.TemporaryDirectory(prefix="prism-") as folder:
        path = Path(folder) / f"upload{SUFFIX}"
        path.write_bytes(content)
        try:
            return Adapter.load(path)
        except AdapterError as error:
            message = str(error).replace(str(path), "the file")
            raise ApiError(422, "bad_adapter", message) from None

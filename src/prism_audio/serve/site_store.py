"""The files of sites: the adapter in use of each, and the versions that it had before.

street.safetensors                     the adapter in use, as any command takes it
history/street/index.json              its versions: date, clips, verdict, labels
history/street/0003.safetensors        the adapter of one version
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from pydantic import ValidationError

from prism_audio.errors import AdapterError, PrismError
from prism_audio.io.atomic import atomic_write
from prism_audio.model.adapter import Adapter
from prism_audio.serve.errors import ApiError
from prism_audio.serve.site_schemas import SiteHistory, SiteVersion

# Versions of a site that are kept beside the one in use.
MOST_VERSIONS = 10
SUFFIX = ".safetensors"


class SiteStore:
    """A folder with sites; without one, a temporary folder that ends with the service.

    Raises
    ------
    PrismError
        Where the folder cannot be used, or another service uses it.
    """

    def __init__(self, folder: Path | None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="prism-sites-") if not folder else None
        self.folder = folder or Path(self._temporary.name)  # type: ignore[union-attr]
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

    def close(self) -> None:
        """Let another service use the folder."""
        self._lock.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def files(self) -> list[Path]:
        """The adapters in use."""
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def history(self, name: str) -> SiteHistory:
        """The versions of a site; none where there is no record, or a damaged one."""
        try:
            return SiteHistory.model_validate_json((self._folder(name) / "index.json").read_bytes())
        except (OSError, ValidationError):
            return SiteHistory()

    def adapter(self, name: str, version: int) -> Adapter:
        """The adapter of one version."""
        try:
            return Adapter.load(self._file(name, version))
        except AdapterError as error:
            raise ApiError(
                404,
                "unknown_version",
                f"{name!r} has no version {version} that can be read: {error}",
            ) from None

    def add(
        self, name: str, history: SiteHistory, adapter: Adapter, new: SiteVersion
    ) -> SiteHistory:
        """Keep another version, without using it; the oldest is dropped where there are too many."""
        folder = self._folder(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrismError(f"cannot write {folder}: {error.strerror or error}") from None
        adapter.save(self._file(name, new.version))
        versions = [*history.versions, new]
        spare = [v.version for v in versions if v.version not in (history.in_use, history.previous)]
        for version in spare[: max(0, len(versions) - MOST_VERSIONS)]:
            self._file(name, version).unlink(missing_ok=True)
            versions = [v for v in versions if v.version != version]
        return self._write(name, history.model_copy(update={"versions": versions}))

    def use(self, name: str, history: SiteHistory, version: int, adapter: Adapter) -> SiteHistory:
        """Make a version the one in use."""
        adapter.save(self.folder / f"{name}{SUFFIX}")
        previous = history.in_use if history.in_use != version else history.previous
        return self._write(
            name, history.model_copy(update={"in_use": version, "previous": previous})
        )

    def remove(self, name: str) -> None:
        """Delete all files of a site."""
        (self.folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
        shutil.rmtree(self._folder(name), ignore_errors=True)

    def rename(self, name: str, new: str) -> None:
        """Give the files of a site another name."""
        for before, after in (
            (self._folder(name), self._folder(new)),
            (self.folder / f"{name}{SUFFIX}", self.folder / f"{new}{SUFFIX}"),
        ):
            if before.exists():
                os.replace(before, after)

    def _write(self, name: str, history: SiteHistory) -> SiteHistory:
        self._folder(name).mkdir(parents=True, exist_ok=True)
        with atomic_write(self._folder(name) / "index.json") as file:
            file.write(history.model_dump_json(indent=1).encode())
        return history

    def _folder(self, name: str) -> Path:
        return self.folder / "history" / name

    def _file(self, name: str, version: int) -> Path:
        return self._folder(name) / f"{version:04d}{SUFFIX}"


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

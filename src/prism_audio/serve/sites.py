"""Sites: the places a service knows, each with its adapter and the versions it had before.

A site never changes: a calibration replaces it by one assignment, and a request that began with the
old one ends with it. On the disk it is the same: files are replaced whole.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import History, is_weaker
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.errors import ApiError
from prism_audio.serve.site import Site, check_name
from prism_audio.serve.site_store import SiteStore, file_bytes

MOST = 200

Origin = Literal["start", "calibration", "upload"]


class Sites(dict[str, Site]):
    """All sites by name.

    Parameters
    ----------
    initial : list of Site
        The first is used where a client names none, and cannot be removed.
    encoder : Encoder
        What all of them were made for.
    store : path, optional
        A folder that is read now and keeps what changes.

    Attributes
    ----------
    notes : list of str
        What the operator should know of the store.
    work_folder : callable
        Gives a temporary folder.
    """

    def __init__(self, initial: list[Site], encoder: Encoder, store: Path | None = None) -> None:
        self.default = initial[0].name
        self.notes: list[str] = []
        self._encoder, self._store = encoder, SiteStore(store)
        self.work_folder = self._store.work_folder
        self._initial = {site.name: site for site in initial}
        super().__init__(self._initial)
        self._writing = threading.Lock()
        for path in self._store.files():
            self._read(path)

    def close(self) -> None:
        """Let another service use the store."""
        self._store.close()

    def __missing__(self, name: str) -> Site:
        known = ", ".join(list(self)[:20])
        raise ApiError(404, "unknown_site", f"there is no site {name!r}; known are {known}")

    def check_room(self, name: str) -> None:
        """Refuse an invalid name, or one site too many."""
        check_name(name)
        if name not in self and len(self) >= MOST:
            raise ApiError(
                409, "too_many_sites", f"there are {MOST} sites, the most; remove one first"
            )

    def put(self, site: Site, origin: Origin, *, take_weaker: bool = True) -> Site:
        """Keep a new version of a site, and use it unless it is weaker than the present one.

        Returns the site with its history; it is in use where ``version`` is ``history.in_use``.
        """
        self.check_room(site.name)
        with self._writing:
            present = self.get(site.name)
            history = present.history if present else History()
            if present and present.calibrated and not history.versions:
                history = self._store.add(present.name, history, present.adapter, "start")
                history = self._store.use(
                    present.name, history, history.versions[-1].version, present.adapter
                )
            history = self._store.add(site.name, history, site.adapter, origin)
            if present and not take_weaker and is_weaker(site.adapter, present.adapter):
                self[site.name] = replace(present, history=history)
            else:
                version = history.versions[-1].version
                history = self._store.use(site.name, history, version, site.adapter)
                self[site.name] = replace(site, history=history)
        return replace(site, history=history)

    def use(self, name: str, version: int) -> Site:
        """Go back, or forward, to a version; 0 is plain zero-shot with the labels in use."""
        with self._writing:
            site = self[name]
            if version == 0:
                adapter = Vocabulary.of(site.adapter).adapter()
            else:
                adapter = self._version(site, version)
            history = self._store.use(name, site.history, version, adapter)
            self[name] = Site(name, adapter, history)
            return self[name]

    def file(self, name: str, version: int | None) -> bytes:
        """The adapter of a site, or of one of its versions, as the bytes of a file."""
        site = self[name]
        version = site.history.in_use if version is None else version
        if version:
            return file_bytes(self._version(site, version))
        if not site.calibrated:
            raise ApiError(
                404,
                "no_adapter",
                f"the site {name!r} is plain zero-shot and has no adapter yet; calibrate it",
            )
        return file_bytes(site.adapter)

    def labels_file(self, name: str) -> Path:
        """Where the labels that people gave clips of a site are kept."""
        return self._store.labels_file(self[name].name)

    def rename(self, name: str, new: str) -> Site:
        """Give a site another name; the default one then starts afresh under its own."""
        with self._writing:
            site = replace(self[name], name=new)
            check_name(new)
            if new in self:
                raise ApiError(
                    409, "name_taken", f"there is a site {new!r} already; remove it first"
                )
            if name == self.default and not site.history.versions:
                raise ApiError(
                    409, "default_site", f"{name!r} is the default site as it was at start"
                )
            self._store.rename(name, new)
            self._forget(name)
            self[new] = site
        return site

    def remove(self, name: str) -> None:
        """Remove a site, on the disk too."""
        with self._writing:
            self[name]
            if name == self.default:
                raise ApiError(
                    409,
                    "default_site",
                    f"{name!r} is the default site and stays; use its version 0 to reset it",
                )
            self._store.remove(name)
            self._forget(name)

    def _version(self, site: Site, version: int) -> Adapter:
        if version not in (known.version for known in site.history.versions):
            raise ApiError(404, "unknown_version", f"{site.name!r} has no version {version}")
        return self._store.adapter(site.name, version)

    def _forget(self, name: str) -> None:
        if name == self.default:
            self[name] = self._initial[name]
        else:
            del self[name]

    def _read(self, path: Path) -> None:
        try:
            check_name(path.stem)
            site = Site(path.stem, Adapter.load(path), self._store.history(path.stem))
            refuse_other_encoder(
                site.adapter, self._encoder.fingerprint, self._encoder.id, str(path)
            )
            site.summary(self._encoder)
        except PrismError as error:
            self.notes.append(f"left out of the store: {error}")
            return
        if (given := self.get(path.stem)) is not None:
            labels = "" if given.adapter.labels == site.adapter.labels else " with other labels"
            self.notes.append(
                f"the site {path.stem!r} is taken from the store{labels} ({path}), not from this "
                "command; remove that file to go back"
            )
        self[path.stem] = site

"""Sites: the places a service knows, each with its adapter.

A site never changes: a calibration replaces it by one assignment, and a request that began with the
old one ends with it. On the disk it is the same: one file each, replaced whole.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import PrismError
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.labelling.labeller import Labeller
from prism_audio.model.adapter import Adapter
from prism_audio.model.facts import Facts
from prism_audio.serve.errors import ApiError
from prism_audio.serve.site_schemas import EncoderSummary, SiteSummary, Verdict

NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
MOST = 200
VERDICTS: tuple[Verdict, ...] = ("adapted", "shrunk", "zero-shot")


@dataclass(frozen=True, eq=False)
class Site:
    """A place.

    Attributes
    ----------
    name : str
        Its name in requests.
    adapter : Adapter
        What labels its sounds.
    calibrated : bool
        Whether the adapter was calibrated; otherwise it is plain zero-shot.
    """

    name: str
    adapter: Adapter
    calibrated: bool = True

    @cached_property
    def labeller(self) -> Labeller:
        """What labels its sounds; made once."""
        return Labeller(self.adapter)

    @property
    def verdict(self) -> Verdict:
        """The verdict of its calibration; ``none`` where there was none."""
        for known in VERDICTS:
            if self.calibrated and self.adapter.facts.verdict == known:
                return known
        return "none"

    def summary(self, encoder: Encoder) -> SiteSummary:
        """The site as clients see it."""
        facts = self.adapter.facts if self.calibrated else Facts()
        return SiteSummary(
            name=self.name,
            encoder=EncoderSummary(
                id=encoder.id,
                rate=encoder.rate,
                window=encoder.window,
                hop=encoder.hop,
                dim=encoder.dim,
            ),
            labels=list(self.adapter.labels),
            verdict=self.verdict,
            reasons=list(facts.reasons),
            weight=None if facts.weight is None else round(facts.weight, 4),
            clips=facts.N,
            date=_iso(facts.date),
        )

    def file(self) -> bytes:
        """The adapter as the bytes of its file."""
        if not self.calibrated:
            raise ApiError(
                404,
                "no_adapter",
                f"the site {self.name!r} is plain zero-shot and has no adapter yet; calibrate it",
            )
        with tempfile.TemporaryDirectory(prefix="prism-") as folder:
            return self.adapter.save(Path(folder) / "site.safetensors").read_bytes()


class Sites:
    """All sites by name.

    Parameters
    ----------
    initial : list of Site
        The first is used where a client names none, and cannot be removed.
    encoder : Encoder
        What all of them were made for.
    store : path, optional
        A folder that is read now and keeps what is put.

    Attributes
    ----------
    notes : list of str
        What the operator should know of the store.
    """

    def __init__(self, initial: list[Site], encoder: Encoder, store: Path | None = None) -> None:
        self.default = initial[0].name
        self.notes: list[str] = []
        self._encoder, self._store = encoder, store
        self._sites = {site.name: site for site in initial}
        self._writing = threading.Lock()
        if store is not None:
            self._read(store)

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def __len__(self) -> int:
        return len(self._sites)

    def get(self, name: str | None = None) -> Site:
        """The site of that name, or the default one."""
        site = self._sites.get(name or self.default)
        if site is None:
            raise ApiError(
                404,
                "unknown_site",
                f"there is no site {name!r}; known are {', '.join(list(self._sites)[:20])}",
            )
        return site

    def check_room(self, name: str) -> None:
        """Refuse an invalid name, or one site too many."""
        check_name(name)
        if name not in self._sites and len(self._sites) >= MOST:
            raise ApiError(
                409, "too_many_sites", f"there are {MOST} sites, the most; remove one first"
            )

    def put(self, site: Site) -> None:
        """Store a site, then switch over to it."""
        check_name(site.name)
        with self._writing:
            if self._store is not None:
                site.adapter.save(self._store / f"{site.name}.safetensors")
            self._sites = {**self._sites, site.name: site}

    def remove(self, name: str) -> None:
        """Remove a site, on the disk too."""
        with self._writing:
            self.get(name)
            if name == self.default:
                raise ApiError(409, "default_site", f"{name!r} is the default site and stays")
            if self._store is not None:
                with suppress(FileNotFoundError):
                    (self._store / f"{name}.safetensors").unlink()
            self._sites = {key: site for key, site in self._sites.items() if key != name}

    def _read(self, store: Path) -> None:
        try:
            store.mkdir(parents=True, exist_ok=True)
            files = sorted(store.glob("*.safetensors"))
        except OSError as error:
            raise PrismError(
                f"cannot use the store {store}: {error.strerror or error}; give another --store"
            ) from None
        for path in files:
            try:
                check_name(path.stem)
                adapter = Adapter.load(path)
                refuse_other_encoder(
                    adapter, self._encoder.fingerprint, self._encoder.id, str(path)
                )
            except PrismError as error:
                self.notes.append(f"left out of the store: {error}")
                continue
            if path.stem in self._sites:
                self.notes.append(
                    f"the site {path.stem!r} is taken from the store ({path}), where it was "
                    "calibrated; remove that file to go back"
                )
            self._sites[path.stem] = Site(path.stem, adapter)


def check_name(name: str) -> None:
    """Refuse what cannot name a site, and so its file."""
    if not re.fullmatch(NAME, name, re.ASCII):
        raise ApiError(
            422,
            "bad_site_name",
            f"{name[:80]!r} cannot name a site; wanted are 1 to 64 of a-z, 0-9, '-' and '_', "
            "beginning with a letter or digit",
        )


def name_of(path: Path) -> str:
    """A name for the site in an adapter's file."""
    name = re.sub(r"[^a-z0-9_-]+", "-", path.stem.lower()).strip("-_")[:64]
    return name or "site"


def _iso(date: str) -> str | None:
    try:
        when = datetime.strptime(date, "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return when.isoformat()

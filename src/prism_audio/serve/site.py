"""A site: a place with its adapter and the versions it had before. It never changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np

from prism_audio.encoders.protocol import Encoder
from prism_audio.labelling.labeller import Labeller
from prism_audio.model.adapter import Adapter
from prism_audio.model.history import History, iso_date, rounded_weight, verdict_of
from prism_audio.serve.errors import ApiError
from prism_audio.serve.site_schemas import EncoderSummary, SiteSummary, Verdict

NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"


@dataclass(frozen=True, eq=False)
class Site:
    """A place.

    Attributes
    ----------
    name : str
        Its name in requests.
    adapter : Adapter
        What labels its sounds.
    history : History
        Its versions; version 0 is plain zero-shot.
    """

    name: str
    adapter: Adapter
    history: History = field(default_factory=History)

    @cached_property
    def labeller(self) -> Labeller:
        """What labels its sounds; made once."""
        return Labeller(self.adapter)

    @cached_property
    def calibrated(self) -> bool:
        """Whether its adapter changes anything, or at least was calibrated."""
        W = self.adapter.W
        return bool(self.adapter.facts.verdict) or not np.array_equal(W, np.eye(*W.shape))

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict of its calibration; ``none`` where there was none."""
        return cast(Verdict, verdict_of(self.adapter))

    @cached_property
    def adapted(self) -> bool:
        """Whether a correction takes part in its answers."""
        return self.verdict in ("adapted", "shrunk")

    def summary(self, encoder: Encoder) -> SiteSummary:
        """The site as clients see it."""
        facts = self.adapter.facts
        reported = len(self.adapter.labels) - (facts.background or 0)
        return SiteSummary(
            name=self.name,
            encoder=EncoderSummary(
                id=encoder.id,
                rate=encoder.rate,
                window=encoder.window,
                hop=encoder.hop,
                dim=encoder.dim,
            ),
            labels=list(self.adapter.labels[:reported]),
            background=list(self.adapter.labels[reported:]),
            verdict=self.verdict,
            reasons=list(facts.reasons),
            weight=rounded_weight(facts),
            clips=facts.N,
            date=iso_date(facts),
            version=self.history.in_use,
            previous=self.history.previous,
        )


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

"""A site: a place with its adapter and the versions it had before. It never changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from prism_audio.encoders.protocol import Encoder
from prism_audio.labelling.labeller import Labeller
from prism_audio.model.adapter import Adapter
from prism_audio.serve.errors import ApiError
from prism_audio.serve.site_schemas import EncoderSummary, SiteHistory, SiteSummary, Verdict

NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
# From the weakest to the strongest.
VERDICTS: tuple[Verdict, ...] = ("none", "zero-shot", "shrunk", "adapted")
# A correction that has lost more than this share of its weight is weaker.
LOSS = 0.1


@dataclass(frozen=True, eq=False)
class Site:
    """A place.

    Attributes
    ----------
    name : str
        Its name in requests.
    adapter : Adapter
        What labels its sounds.
    history : SiteHistory
        Its versions; version 0 is plain zero-shot.
    """

    name: str
    adapter: Adapter
    history: SiteHistory = field(default_factory=SiteHistory)

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
        verdict = self.adapter.facts.verdict
        return next((known for known in VERDICTS if known == verdict), "none")

    @cached_property
    def adapted(self) -> bool:
        """Whether a correction takes part in its answers."""
        return self.verdict in ("adapted", "shrunk")

    @property
    def weight(self) -> float | None:
        """How much of the correction is used, 0 to 1; None where that is not known."""
        weight = self.adapter.facts.weight
        return None if weight is None else round(weight, 4)

    @property
    def date(self) -> str | None:
        """When it was calibrated, in ISO 8601; None where that is not known."""
        try:
            when = datetime.strptime(self.adapter.facts.date, "%Y-%m-%d %H:%M UTC")
        except ValueError:
            return None
        return when.replace(tzinfo=UTC).isoformat()

    def summary(self, encoder: Encoder) -> SiteSummary:
        """The site as clients see it."""
        facts = self.adapter.facts
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
            weight=self.weight,
            clips=facts.N,
            date=self.date,
            version=self.history.in_use,
            previous=self.history.previous,
        )

    def is_weaker_than(self, other: Site) -> bool:
        """Whether this correction is weaker than another: by its verdict, or by its weight."""
        mine, theirs = VERDICTS.index(self.verdict), VERDICTS.index(other.verdict)
        if mine != theirs:
            return mine < theirs
        if self.weight is None or other.weight is None:
            return False
        return self.weight < (1 - LOSS) * other.weight


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

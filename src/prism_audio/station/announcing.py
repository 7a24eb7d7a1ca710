"""Which events are announced: not in quiet hours, and each label once in a while.

An event that is not announced is still recorded: in the database, as a clip, as a JSON line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from prism_audio.errors import InputError
from prism_audio.station.messages import StationEvent


@dataclass(frozen=True)
class QuietHours:
    """Hours of the day, by the clock of this machine; they may run past midnight."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> QuietHours:
        """Read ``22:00-06:00``."""
        match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)", text)
        if match is None:
            raise InputError(f"--quiet {text!r} is no span of hours; write for example 22:00-06:00")
        hour, minute, until, past = map(int, match.groups())
        begin, end = time(hour, minute), time(until, past)
        if begin == end:
            raise InputError(f"--quiet {text!r} begins when it ends; leave it out, or move one end")
        return cls(begin, end)

    def include(self, moment: datetime) -> bool:
        """Whether a moment lies within."""
        now = moment.astimezone().time()
        if self.begin < self.end:
            return self.begin <= now < self.end
        return now >= self.begin or now < self.end


class Announcements:
    """Decides for every event, once, whether it is announced.

    Parameters
    ----------
    quiet : QuietHours, optional
        When nothing is.
    cooldown : float
        Seconds after an announcement in which its source is not announced with that label again.
    """

    def __init__(self, quiet: QuietHours | None = None, cooldown: float = 0.0) -> None:
        self._quiet, self._cooldown = quiet, timedelta(seconds=cooldown)
        self._last: dict[tuple[str, str], datetime] = {}
        self._begun: dict[str, bool] = {}

    def decide(self, event: StationEvent) -> bool:
        """Whether to announce an event; the end of one as its beginning was."""
        if event.over and event.id in self._begun:
            return self._begun.pop(event.id)
        key = event.source, event.label
        last = self._last.get(key)
        cooling = last is not None and timedelta() <= event.started - last < self._cooldown
        quiet = self._quiet is not None and self._quiet.include(event.started)
        announced = not (cooling or quiet)
        if announced:
            self._last[key] = event.started
        if not event.over:
            self._begun[event.id] = announced
        return announced

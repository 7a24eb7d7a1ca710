"""The output of ``prism listen``: lines for people, or one JSON document a line."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from prism_audio.cli.console import note, printable, say
from prism_audio.io.text import counted
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.listener import Listener, Notice, Switched, WindowAnswer

if TYPE_CHECKING:
    from prism_audio.labelling.events import Event


class Teller:
    """Counts what was heard, and tells it to people.

    Parameters
    ----------
    listener : Listener
        Whose notices they are.
    every : bool
        Tell of every answer, not of events alone.
    """

    def __init__(self, listener: Listener, every: bool) -> None:
        self.listener, self.every = listener, every
        self.events: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def take(self, notice: Notice) -> None:
        """Count a notice and tell it."""
        if isinstance(notice, WindowAnswer):
            if self.every:
                self.window(notice)
        elif isinstance(notice, Switched):
            self.switch(notice)
        elif isinstance(notice, Drifted):
            self.drift(notice)
        else:
            kind, event = notice
            if kind == "begin":
                self.events[event.label] += 1
            else:
                self.seconds[event.label] += event.end - event.start
            self.event(kind, event)

    def settings(self, source: str, warmup: int) -> None:
        """What is listened to, and how."""
        listener, pace = self.listener, self.listener.pace
        known = listener.adapter.facts.place
        place = f", calibrated at {known}" if known else ""
        say(f"listening to {printable(source)} by {listener.encoder.id}{place}")
        say(f"window {pace.window:.3g} s, hop {pace.hop:.3g} s, confirm {pace.confirm}")
        say(f"classes: {_shortened(listener.adapter.labels)}")
        if warmup:
            least = pace.window + (warmup - 1) * pace.hop
            say(f"zero-shot until {warmup} windows are in ({least:.0f} s of sound)")

    def window(self, window: WindowAnswer) -> None:
        say(f"  {_clock(window.start)}  . {window.answer.label}  {window.answer.score:.2f}")

    def event(self, kind: str, event: Event) -> None:
        if kind == "begin":
            say(f"  {_clock(event.start)}  {event.label}  {event.score:.2f}")

    def switch(self, switched: Switched) -> None:
        verdict = switched.adapter.facts.verdict
        because = "; ".join(switched.adapter.facts.reasons)
        say(f"  {_clock(self.listener.seconds)}  -- calibrated on {switched.windows} windows: "
            f"{verdict} ({because})")  # fmt: skip

    def drift(self, drifted: Drifted) -> None:
        where = "no longer sounds" if drifted.away else "sounds again"
        advice = (
            "; labels are less reliable here: calibrate this place again" if drifted.away else ""
        )
        say(
            f"  {_clock(self.listener.seconds)}  -- the stream {where} like the calibration "
            f"(distance {drifted.distance:.2f}){advice}"
        )

    def wrote(self, path: Path) -> None:
        note(f"wrote {printable(path)}")

    def summary(self, cpu: float) -> None:
        """What it came to."""
        listener = self.listener
        say(
            f"heard {listener.seconds:.1f} s in {counted(listener.answers, 'window')}, "
            f"{counted(self.events.total(), 'event')}; {cpu:.2f} s of one core, "
            f"{_ratio(listener.seconds, cpu):.0f}x real time"
        )
        for label, count in self.events.most_common():
            say(f"  {label}: {count} ({self.seconds[label]:.1f} s)")


class JsonTeller(Teller):
    """The same as one JSON document a line; ``type`` says of what kind each is."""

    def settings(self, source: str, warmup: int) -> None:
        listener, pace = self.listener, self.listener.pace
        self._say(
            "settings",
            source=printable(source),
            encoder=listener.encoder.id,
            place=listener.adapter.facts.place,
            window=round(pace.window, 4),
            hop=round(pace.hop, 4),
            confirm=pace.confirm,
            warmup=warmup,
            labels=list(listener.adapter.labels),
        )

    def window(self, window: WindowAnswer) -> None:
        answer = window.answer.rounded()
        self._say(
            "window",
            **_span(window.start, window.end, answer.score),
            label=answer.label,
            probability=answer.probability,
            runner_up=answer.runner_up,
            margin=answer.margin,
            zero_shot=answer.zero_shot,
            zero_shot_score=answer.zero_shot_score,
        )

    def event(self, kind: str, event: Event) -> None:
        self._say(kind, **_span(event.start, event.end, event.score), label=event.label)

    def switch(self, switched: Switched) -> None:
        facts = switched.adapter.facts
        self._say(
            "switch",
            windows=switched.windows,
            verdict=facts.verdict,
            reasons=facts.reasons,
        )

    def drift(self, drifted: Drifted) -> None:
        at = round(self.listener.seconds, 3)
        self._say("drift", at=at, distance=round(drifted.distance, 4), away=drifted.away)

    def summary(self, cpu: float) -> None:
        self._say(
            "summary",
            audio_seconds=round(self.listener.seconds, 3),
            cpu_seconds=round(cpu, 3),
            times_real_time=round(_ratio(self.listener.seconds, cpu), 1),
            windows=self.listener.answers,
            events=dict(self.events),
            seconds={label: round(value, 3) for label, value in self.seconds.items()},
        )

    def _say(self, kind: str, **told: Any) -> None:
        typer.echo(json.dumps({"type": kind, **told}))


def _span(start: float, end: float, score: float) -> dict[str, float]:
    return {"start": round(start, 3), "end": round(end, 3), "score": round(score, 6)}


def _ratio(seconds: float, cpu: float) -> float:
    return seconds / max(cpu, 1e-3)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):3d}:{rest:04.1f}"


def _shortened(labels: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(labels[:most]) + (
        f", ... ({len(labels)} in all)" if len(labels) > most else ""
    )

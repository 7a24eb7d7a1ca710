"""The output of ``prism listen``: lines for people, or one JSON document a line."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import typer

from prism_audio.audio.watchdog import StreamState
from prism_audio.cli.console import printable, say
from prism_audio.io.text import counted
from prism_audio.labelling.drift import Drifted
from prism_audio.labelling.listener import Switched, WindowAnswer
from prism_audio.station.hearing import Hearing
from prism_audio.station.messages import (
    Message,
    Notice,
    Recalibrated,
    SourceState,
    StationEvent,
    iso,
)
from prism_audio.station.sources import File


class Teller:
    """A sink that counts what was heard, and tells it to people."""

    name = "standard output"
    announces = False  # it counts every event, and leaves out those that are not announced

    def __init__(self, hearings: Sequence[Hearing], warmup: int) -> None:
        self.hearings, self.warmup = hearings, warmup
        self.events: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.began = 0.0
        self._by_position = {h.source.name for h in hearings if isinstance(h.source, File)}

    def start(self) -> None:
        for hearing in self.hearings:
            self.settings(hearing)
        self.began = time.process_time()

    def write(self, message: Message) -> bool:
        if isinstance(message, StationEvent):
            if message.over:
                self.seconds[message.label] += message.end - message.start
            else:
                self.events[message.label] += 1
            self.event(message)
        elif isinstance(message, Notice):
            notice = message.notice
            if isinstance(notice, WindowAnswer):
                self.window(message, notice)
            elif isinstance(notice, Switched):
                self.switch(message, notice)
            else:
                self.drift(message, notice)
        elif isinstance(message, Recalibrated):
            self.recalibrated(message)
        elif isinstance(message, SourceState):
            self.state(message)
        else:
            return False
        return True

    def close(self) -> None:
        # Processor time, of all threads: waiting for a microphone costs none.
        self.summary(time.process_time() - self.began)

    def settings(self, hearing: Hearing) -> None:
        """What is listened to, and how."""
        listener, pace = hearing.listener, hearing.listener.pace
        known = listener.adapter.facts.place
        place = f", calibrated at {known}" if known else ""
        say(f"listening to {printable(hearing.source.address)} by {listener.encoder.id}{place}")
        say(f"window {pace.window:.3g} s, hop {pace.hop:.3g} s, confirm {pace.confirm}")
        say(f"classes: {_shortened(listener.adapter.labels)}")
        if self.warmup:
            least = pace.window + (self.warmup - 1) * pace.hop
            say(f"zero-shot until {self.warmup} windows are in ({least:.0f} s of sound)")

    def window(self, message: Notice, window: WindowAnswer) -> None:
        when = self._when(message.source, window.start, message.at)
        say(f"{when}  . {window.answer.label}  {window.answer.score:.2f}")

    def event(self, event: StationEvent) -> None:
        if event.announced and not event.over:
            when = self._when(event.source, event.start, event.started)
            sure = f"score {event.score:.2f}"
            if event.confidence is not None:
                sure = f"confidence {event.confidence:.2f}"
            say(f"{when}  {event.label}  ({sure})")

    def switch(self, message: Notice, switched: Switched) -> None:
        facts = switched.adapter.facts
        self._remark(message, f"calibrated on {switched.windows} windows: "
                     f"{facts.verdict} ({'; '.join(facts.reasons)})")  # fmt: skip

    def drift(self, message: Notice, drifted: Drifted) -> None:
        where = "no longer sounds" if drifted.away else "sounds again"
        advice = (
            "; labels are less reliable here: calibrate this place again" if drifted.away else ""
        )
        distance = f"(distance {drifted.distance:.2f})"
        self._remark(message, f"the stream {where} like the calibration {distance}{advice}")

    def recalibrated(self, message: Recalibrated) -> None:
        facts = message.adapter.facts
        use = "in use" if message.taken else "not used, it is weaker than the one in use"
        because = "; ".join(facts.reasons)
        self._remark(message, f"version {message.version}, {facts.verdict} ({because}): {use}")

    def state(self, message: SourceState) -> None:
        if message.state in (StreamState.live, StreamState.ended):
            say(f"  {_local(message.at)}  -- {printable(message.message)}")

    def summary(self, cpu: float) -> None:
        """What it came to."""
        seconds, answers = self._heard()
        say(
            f"heard {seconds:.1f} s in {counted(answers, 'window')}, "
            f"{counted(self.events.total(), 'event')}; {cpu:.2f} s of one core, "
            f"{_ratio(seconds, cpu):.0f}x real time"
        )
        for label, count in self.events.most_common():
            say(f"  {label}: {count} ({self.seconds[label]:.1f} s)")

    def _remark(self, message: Notice | Recalibrated, text: str) -> None:
        say(f"{self._when(message.source, message.seconds, message.at)}  -- {text}")

    def _heard(self) -> tuple[float, int]:
        answers = sum(hearing.listener.answers for hearing in self.hearings)
        return sum(hearing.seconds for hearing in self.hearings), answers

    def _when(self, source: str, seconds: float, at: datetime) -> str:
        """Where in a recording, or else when; and at which source, where there are several."""
        when = _position(seconds) if source in self._by_position else _local(at)
        return f"  {when}  {source}" if len(self.hearings) > 1 else f"  {when}"


class JsonTeller(Teller):
    """The same as one JSON document a line; ``type`` says of what kind each is."""

    def settings(self, hearing: Hearing) -> None:
        listener, pace = hearing.listener, hearing.listener.pace
        self._say(
            "settings",
            name=hearing.source.name,
            source=printable(hearing.source.address),
            encoder=listener.encoder.id,
            place=listener.adapter.facts.place,
            window=round(pace.window, 4),
            hop=round(pace.hop, 4),
            confirm=pace.confirm,
            warmup=self.warmup,
            labels=list(listener.adapter.labels),
        )

    def window(self, message: Notice, window: WindowAnswer) -> None:
        answer = window.answer.rounded()
        self._say(
            "window",
            source=message.source,
            **_span(window.start, window.end, answer.score),
            label=answer.label,
            probability=answer.probability,
            runner_up=answer.runner_up,
            margin=answer.margin,
            zero_shot=answer.zero_shot,
            zero_shot_score=answer.zero_shot_score,
        )

    def event(self, event: StationEvent) -> None:
        self._say(
            "end" if event.over else "begin",
            id=event.id,
            source=event.source,
            **_span(event.start, event.end, event.score),
            label=event.label,
            confidence=event.confidence,
            started=iso(event.started),
            ended=iso(event.ended),
            recording=event.recording,
            announced=event.announced,
            clip=None if event.clip is None else printable(event.clip),
        )

    def switch(self, message: Notice, switched: Switched) -> None:
        facts = switched.adapter.facts
        self._say(
            "switch",
            source=message.source,
            windows=switched.windows,
            verdict=facts.verdict,
            reasons=facts.reasons,
        )

    def drift(self, message: Notice, drifted: Drifted) -> None:
        at, distance = round(message.seconds, 3), round(drifted.distance, 4)
        self._say("drift", source=message.source, at=at, distance=distance, away=drifted.away)

    def recalibrated(self, message: Recalibrated) -> None:
        facts = message.adapter.facts
        self._say(
            "recalibration",
            source=message.source,
            version=message.version,
            taken=message.taken,
            verdict=facts.verdict,
            reasons=facts.reasons,
        )

    def state(self, message: SourceState) -> None:
        self._say(
            "state",
            source=message.source,
            state=message.state.value,
            message=printable(message.message),
            at=iso(message.at),
        )

    def summary(self, cpu: float) -> None:
        seconds, answers = self._heard()
        self._say(
            "summary",
            audio_seconds=round(seconds, 3),
            cpu_seconds=round(cpu, 3),
            times_real_time=round(_ratio(seconds, cpu), 1),
            windows=answers,
            events=dict(self.events),
            seconds={label: round(value, 3) for label, value in self.seconds.items()},
        )

    def _say(self, kind: str, **told: Any) -> None:
        typer.echo(json.dumps({"type": kind, **told}))


def _span(start: float, end: float, score: float) -> dict[str, float]:
    return {"start": round(start, 3), "end": round(end, 3), "score": round(score, 6)}


def _ratio(seconds: float, cpu: float) -> float:
    return seconds / max(cpu, 1e-3)


def _position(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):3d}:{rest:04.1f}"


def _local(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def _shortened(labels: tuple[str, ...], most: int = 6) -> str:
    return ", ".join(labels[:most]) + (
        f", ... ({len(labels)} in all)" if len(labels) > most else ""
    )

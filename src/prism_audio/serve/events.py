"""Windows and events of recordings, and the files in which other programs read events."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import Field

from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import classify
from prism_audio.labelling.events import FileEvent, detect_events, has_background, merge_windows
from prism_audio.labelling.formats import FORMATS, Recording, TimedLabel
from prism_audio.labelling.formats.base import delimited
from prism_audio.labelling.labeller import Answer, Labeller
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.schemas import Schema

# A recording of more seconds is no clip: it has events.
LONGEST_CLIP = 30.0


class HeardRecording(NamedTuple):
    """A recording and its events."""

    file: str
    seconds: float
    events: list[FileEvent]


class WindowLabel(Schema):
    """One window of a recording; windows overlap."""

    start: float
    end: float
    label: str
    score: float
    zero_shot: str
    zero_shot_score: float
    probability: float | None

    @classmethod
    def of(cls, start: float, end: float, answer: Answer) -> WindowLabel:
        """The label of the sound between two moments, in seconds."""
        short = answer.rounded()
        return cls(
            start=round(start, 3),
            end=round(end, 3),
            label=short.label,
            score=short.score,
            zero_shot=short.zero_shot,
            zero_shot_score=short.zero_shot_score,
            probability=short.probability,
        )


class HeardEvent(Schema):
    """What was heard from when to when, in seconds."""

    start: float
    end: float
    label: str
    score: float
    confidence: float | None = Field(
        description="How likely it is real; null where a minute of sound tells no background."
    )


def timeline_of(recording: EmbeddedRecording, labeller: Labeller) -> list[WindowLabel]:
    """The labels of its windows."""
    answers = labeller.answer(recording.windows) if len(recording.end) else []
    return [
        WindowLabel.of(float(start), float(end), answer)
        for start, end, answer in zip(recording.start, recording.end, answers, strict=True)
    ]


def events_of(recording: EmbeddedRecording, labeller: Labeller) -> list[HeardEvent]:
    """Its events."""
    return [
        HeardEvent(start=e.start, end=e.end, label=e.label, score=e.score, confidence=e.confidence)
        for e in find_events(recording, labeller)
    ]


def find_events(recording: EmbeddedRecording, labeller: Labeller) -> list[FileEvent]:
    """The events of a recording, against its background where there is enough sound to learn it."""
    files = [recording.file] * len(recording.start)
    batch = Batch(recording.windows, files, recording.start, recording.end, "window")
    if has_background(batch):
        return detect_events(batch, labeller.adapter)
    return merge_windows(classify(batch, labeller.adapter, threshold=labeller.threshold))


def events_file(form: str, heard: Sequence[HeardRecording], rate: int) -> tuple[str, bytes]:
    """Name and content of a file with the events of recordings.

    ``form`` is ``csv``, ``json`` or one of the formats of ``prism classify --format``. A format that
    wants a file for every recording gives a zip file of them where there are several.
    """
    events = [event for recording in heard for event in recording.events]
    if form == "json":
        return "events.json", json.dumps([event._asdict() for event in events], indent=1).encode()
    if form == "csv":
        return "events.csv", delimited(FileEvent._fields, events).encode()
    writer = FORMATS[form]
    timed = [TimedLabel(e.file, e.start, e.end, e.label, e.confidence) for e in events]
    recordings = [Recording(one.file, one.seconds, rate) for one in heard]
    if writer.combined or len(heard) == 1:
        stem = "events" if len(heard) > 1 else PurePosixPath(heard[0].file).stem or "events"
        return stem + writer.suffix, writer.write(timed, recordings).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, recording in enumerate(recordings, start=1):
            mine = [event for event in timed if event.file == recording.file]
            # Names of clients are no paths: the stem alone, with a number, since two may be alike.
            name = f"{number:03d} {PurePosixPath(recording.file).stem}{writer.suffix}"
            archive.writestr(name, writer.write(mine, [recording]))
    return "events.zip", packed.getvalue()

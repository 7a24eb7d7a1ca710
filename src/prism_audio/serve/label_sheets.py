"""The labels that people give clips of a site: one sheet a site, kept on the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import Field, ValidationError

from prism_audio.errors import InputError
from prism_audio.evaluation.check import Campaign, classes_of
from prism_audio.evaluation.clip_scores import Interval
from prism_audio.evaluation.picking import pick
from prism_audio.evaluation.population import OTHER as NO_CLASS
from prism_audio.evaluation.population import survey
from prism_audio.io.atomic import atomic_write
from prism_audio.labelling.sheet import OTHER
from prism_audio.serve.errors import ApiError
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.schemas import Schema, example
from prism_audio.serve.site import Site
from prism_audio.serve.sites import Sites

# Clips in a sheet; a person may stop after any of them.
PICKED = 100
_CLIP = {
    "row": "9b1c2f70a4d35e68f07a1b2c3d4e5f60",
    "file": "gate.wav",
    "label": "siren",
    "suggestion": "siren",
    "probability": 0.12,
}


class PickedClip(Schema):
    """A clip to listen to."""

    model_config = example(_CLIP)

    row: str = Field(pattern=r"^[0-9a-f]{32}$", description="The id of its embedding.")
    file: str = Field(max_length=1000, description="The client's name for it; empty until known.")
    label: str = Field(max_length=200, description="What was heard; empty: not listened to.")
    suggestion: str = Field(max_length=200, description="What the site answered.")
    probability: float = Field(gt=0, le=1, description="With which it was picked.")


class LabelSheet(Schema):
    """The clips of a site that were picked to be listened to, in order, with their labels."""

    model_config = example({"clips": [_CLIP]})

    clips: list[PickedClip] = Field(default_factory=list, max_length=10_000)


class Estimate(Schema):
    """A part with the bounds of its 95 % interval; no value where nothing was listened to."""

    value: float | None
    low: float
    high: float

    @classmethod
    def of(cls, interval: Interval) -> Estimate:
        """From an interval."""
        value, low, high = interval
        rounded = None if value != value else round(value, 4)
        return cls(value=rounded, low=round(low, 4), high=round(high, 4))


class SiteCheck(Schema):
    """How good the answers of a site are on these recordings, from the labels of its sheet."""

    model_config = example(
        {
            "listened": 30,
            "clips": 400,
            "zero_shot": {"value": 0.61, "low": 0.49, "high": 0.71},
            "adapted": {"value": 0.78, "low": 0.66, "high": 0.86},
            "difference": {"value": 0.17, "low": 0.05, "high": 0.25},
            "confidence": 0.995,
            "more": 0,
            "verdict": "the adapter is better than zero-shot (99.5 % sure)",
        }
    )

    listened: int
    clips: int = Field(description="Recordings that the estimates are for.")
    zero_shot: Estimate
    adapted: Estimate
    difference: Estimate
    confidence: float = Field(description="That the adapter is better than zero-shot, 0 to 1.")
    more: int | None = Field(description="Labels that would settle it; none where it is not known.")
    verdict: str


class LabelSheets:
    """Reads and changes the sheets of sites."""

    def __init__(self, sites: Sites) -> None:
        self._sites, self._writing = sites, threading.Lock()

    def read(self, site: str) -> LabelSheet:
        """The sheet of a site; an empty one where there is none, or a damaged one."""
        try:
            return LabelSheet.model_validate_json(self._sites.labels_file(site).read_bytes())
        except (OSError, ValidationError):
            return LabelSheet()

    def heard(self, site: str) -> dict[str, str]:
        """The labels of a site by row; refuses a site that has none."""
        labels = {clip.row: clip.label for clip in self.read(site).clips if clip.label}
        if not labels:
            raise ApiError(422, "no_labels", f"the site {site!r} has no labels yet; pick and label")
        return labels

    def write(self, site: str, sheet: LabelSheet) -> LabelSheet:
        """Keep a sheet in place of the present one."""
        return self._change(site, lambda _: sheet)

    def label(self, site: str, row: str, label: str, file: str) -> PickedClip:
        """Write down what was heard in a clip of the sheet."""

        def change(sheet: LabelSheet) -> LabelSheet:
            if row not in (clip.row for clip in sheet.clips):
                message = "the sheet of this site has no such clip; pick anew"
                raise ApiError(404, "unknown_clip", message)
            if label:
                classes_of([label], self._sites[site].adapter)  # refuses other labels
            heard = {"label": label, "file": file}
            clips = [
                clip.model_copy(update=heard) if clip.row == row else clip for clip in sheet.clips
            ]
            return LabelSheet(clips=clips)

        changed = self._change(site, change)
        return next(clip for clip in changed.clips if clip.row == row)

    def pick(self, site: Site, recordings: Sequence[EmbeddedRecording]) -> LabelSheet:
        """The sheet of a site if it is of these recordings, else a new one of them."""
        rows = {recording.row: recording for recording in recordings if recording.row}

        def change(sheet: LabelSheet) -> LabelSheet:
            if any(clip.row in rows for clip in sheet.clips):
                return sheet
            if labelled := sum(bool(clip.label) for clip in sheet.clips):
                raise ApiError(
                    409,
                    "other_recordings",
                    f"the site {site.name!r} has {labelled} labels of other recordings; add those "
                    "recordings, or remove the labels to begin anew",
                )
            return _pick(site, list(rows.values()))

        return self._change(site.name, change)

    def check(self, site: Site, recordings: Sequence[EmbeddedRecording]) -> SiteCheck:
        """What the labels say of the answers to these recordings."""
        place = {recording.row: i for i, recording in enumerate(recordings)}
        picked = [clip for clip in self.read(site.name).clips if clip.row in place]
        heard = [clip for clip in picked if clip.label]
        part = len(heard) / max(len(picked), 1)
        campaign = Campaign(
            survey([np.stack([recording.embedding for recording in recordings])], site.adapter),
            np.array([place[clip.row] for clip in heard], dtype=np.intp),
            classes_of([clip.label for clip in heard], site.adapter),
            np.array([part * clip.probability for clip in heard]),
        )
        interval, confidence, more = campaign.difference
        return SiteCheck(
            listened=len(heard),
            clips=len(recordings),
            zero_shot=Estimate.of(campaign.zero_shot),
            adapted=Estimate.of(campaign.adapted),
            difference=Estimate.of(interval),
            confidence=round(confidence, 4),
            more=more,
            verdict=campaign.verdict,
        )

    def _change(self, site: str, change: Callable[[LabelSheet], LabelSheet]) -> LabelSheet:
        with self._writing:
            sheet = change(before := self.read(site))
            if sheet != before:
                path = self._sites.labels_file(site)
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path) as file:
                    file.write(sheet.model_dump_json(indent=1).encode())
        return sheet


def _pick(site: Site, recordings: Sequence[EmbeddedRecording]) -> LabelSheet:
    if not recordings:
        raise InputError("only recordings can be listened to; send their sound, not embeddings")
    population = survey([np.stack([r.embedding for r in recordings])], site.adapter)
    picks = pick(population, PICKED)
    answers = population.answer[picks.rows]
    return LabelSheet(
        clips=[
            PickedClip(
                row=recordings[i].row,
                file="",
                label="",
                suggestion=OTHER if answer == NO_CLASS else site.adapter.labels[answer],
                probability=round(float(probability), 6),
            )
            for i, answer, probability in zip(picks.rows, answers, picks.probability, strict=True)
        ]
    )

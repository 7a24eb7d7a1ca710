"""The work of a calibration job: embed its recordings, calibrate, and keep the result as a version."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from prism_audio.encoders.prompts import clean_label
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.sheet import OTHER, class_of
from prism_audio.model.truth import UNLABELLED
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.calibration_process import run_calibration
from prism_audio.serve.errors import ApiError, all_failed
from prism_audio.serve.events import LONGEST_CLIP
from prism_audio.serve.job import Job
from prism_audio.serve.row_cache import EmbeddedRecording
from prism_audio.serve.schemas import FailedRecording
from prism_audio.serve.service import Service
from prism_audio.serve.site import Site
from prism_audio.serve.site_schemas import CalibrationResult
from prism_audio.serve.uploads import Recording

Rows = Sequence[EmbeddedRecording | ApiError]


@dataclass(frozen=True)
class Calibration:
    """What to calibrate: with which classes, by which parameters, and on what.

    Attributes
    ----------
    words : Vocabulary
        The classes.
    preset : str
        The parameters.
    take_weaker : bool
        Whether a result that is weaker than the correction in use is used all the same.
    windows : bool or None
        Whether to look at windows; None where the length of the recordings decides.
    sounds : list
        Recordings that are still to be embedded, or what was embedded before.
    heard : mapping
        What people heard in some of them, by row.
    """

    service: Service
    words: Vocabulary
    preset: str
    take_weaker: bool
    windows: bool | None
    sounds: Sequence[Recording] | Rows
    heard: Mapping[str, str] = field(default_factory=dict)

    async def run(self, job: Job) -> CalibrationResult:
        """Do it; the job tells how far it is."""
        job.begin("reading")
        rows = await self._embed(job)
        recordings = [row for row in rows if isinstance(row, EmbeddedRecording)]
        errors = [row for row in rows if isinstance(row, ApiError)]
        if not recordings:
            raise all_failed(errors)
        batch = await asyncio.to_thread(self._batch, recordings)
        job.begin("calibrating")
        with self.service.sites.work_folder() as folder:
            adapter, report = await run_calibration(
                batch,
                self.words,
                place=job.site,
                preset=self.preset,
                folder=Path(folder),
                y=self._classes(recordings, batch),
            )
        job.begin("storing")
        put = partial(self.service.sites.put, take_weaker=self.take_weaker)
        site = await asyncio.to_thread(put, Site(job.site, adapter), "calibration")
        version = site.history.versions[-1].version
        return CalibrationResult(
            site=site.summary(self.service.encoder),
            version=version,
            taken=version == site.history.in_use,
            clips=len(batch),
            skipped=[FailedRecording.of(error) for error in errors],
            **dict(report),
        )

    async def _embed(self, job: Job) -> Rows:
        recordings = [sound for sound in self.sounds if isinstance(sound, Recording)]
        if not recordings:
            return self.sounds  # type: ignore[return-value]
        loop = asyncio.get_running_loop()

        def then(recording: EmbeddedRecording) -> EmbeddedRecording:
            loop.call_soon_threadsafe(job.step)
            return recording

        return await self.service.embedder.embed(recordings, None, then)

    def _batch(self, recordings: Sequence[EmbeddedRecording]) -> Batch:
        windows = self.windows
        if windows is None:
            windows = any((recording.seconds or 0) > LONGEST_CLIP for recording in recordings)
        return self._window_batch(recordings) if windows else self._clip_batch(recordings)

    def _classes(self, recordings: Sequence[EmbeddedRecording], batch: Batch) -> list[int] | None:
        """The classes that people heard in the rows of a batch, -1 where they did not listen."""
        if not self.heard:
            return None
        if len(batch) != len(recordings):
            message = "labels are of whole recordings, not of their windows; send windows=false"
            raise ApiError(422, "no_windows", message)
        names = {clean_label(name): index for index, name in enumerate(self.words.labels)}
        labels = (self.heard.get(recording.row, OTHER) for recording in recordings)
        return [UNLABELLED if label == OTHER else class_of(label, names) for label in labels]

    def _window_batch(self, recordings: Sequence[EmbeddedRecording]) -> Batch:
        """Windows of all recordings, evenly thinned out where there are too many."""
        step = -(-sum(len(r.start) for r in recordings) // self.service.limits.rows) or 1
        names = [r.file for r in recordings for _ in r.start[::step]]
        if not names:
            raise ApiError(422, "no_windows", "embeddings have no windows; send windows=false")
        return Batch(
            np.concatenate([r.windows[::step] for r in recordings]),
            names,
            np.concatenate([r.start[::step] for r in recordings]),
            np.concatenate([r.end[::step] for r in recordings]),
            "window",
            self.service.encoder.id,
            self.service.encoder.fingerprint,
        )

    def _clip_batch(self, recordings: Sequence[EmbeddedRecording]) -> Batch:
        seconds = np.array([np.nan if r.seconds is None else r.seconds for r in recordings])
        return Batch(
            np.stack([recording.embedding for recording in recordings]),
            [recording.file for recording in recordings],
            np.where(np.isnan(seconds), np.nan, 0.0),
            seconds,
            "row" if np.isnan(seconds).any() else "clip",
            self.service.encoder.id,
            self.service.encoder.fingerprint,
        )

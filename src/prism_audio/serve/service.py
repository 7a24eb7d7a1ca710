"""The service without its addresses: what it is made of, and how it answers and calibrates."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import DEFAULT, load_encoder
from prism_audio.errors import InputError
from prism_audio.io.runtime import usable_cores
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.access import Access
from prism_audio.serve.admission import Admission
from prism_audio.serve.answers import failed
from prism_audio.serve.calibrator import calibrated
from prism_audio.serve.hearing import Deadline, EmbeddedRecording, hear
from prism_audio.serve.jobs import Job, Jobs
from prism_audio.serve.metrics import Metrics
from prism_audio.serve.pipe import Pipe
from prism_audio.serve.refusal import Refusal
from prism_audio.serve.settings import DEFAULT_LABELS, ServiceSettings
from prism_audio.serve.sites import Site, Sites, name_of
from prism_audio.serve.tower import PATIENT, URGENT, SharedEncoder, Tower
from prism_audio.serve.uploads import Recording, Upload
from prism_audio.serve.words import LabelVectors

# Recordings of one request that are decoded at once: more would let a large one push others back.
AT_ONCE = 2


class Service:
    """All that outlives a request.

    Attributes
    ----------
    urgent, patient : SharedEncoder
        For requests, and for calibrations.
    pipes : set of Pipe
        What live streams are fed through; ended when the service stops.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.limits = settings, settings.limits
        adapters = [Adapter.load(path) for path in settings.adapters]
        self.encoder = _encoder(settings, adapters)
        for path, adapter in zip(settings.adapters, adapters, strict=True):
            refuse_other_encoder(adapter, self.encoder.fingerprint, self.encoder.id, str(path))
        self.words = LabelVectors(self.encoder, PromptSet.load(settings.prompts))
        given = [
            Site(name_of(path), a) for path, a in zip(settings.adapters, adapters, strict=True)
        ]
        _refuse_twins(settings.adapters, given)
        self.sites = Sites(given or [self._zero_shot()], self.encoder, settings.store)
        self.access, self.metrics = Access(settings), Metrics()
        self.admission = Admission(self.limits.requests, "requests are being answered")
        self.streams = Admission(self.limits.live, "live streams are open")
        self.pipes: set[Pipe] = set()
        self.jobs = Jobs(self.limits.jobs)

    def start(self) -> None:
        """Start the threads; needs a running event loop."""
        # Products here are small and many threads make them: each on its own core is faster, and a
        # fork beside a product on several cores can hang OpenBLAS for ever.
        threadpool_limits(1, user_api="blas")
        self.tower = Tower(self.encoder)
        self.urgent = SharedEncoder(self.tower, URGENT)
        self.patient = SharedEncoder(self.tower, PATIENT)
        # More than cores: while one waits for the encoder the others decode for its next batch.
        self._decoders = ThreadPoolExecutor(8 * usable_cores(), thread_name_prefix="decode")
        self._background = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="calibrate")
        self.jobs.start()

    async def drained(self) -> None:
        """Let nobody in any more, and wait until all that was accepted is done."""
        self.admission.stopping = self.streams.stopping = True
        for pipe in self.pipes:
            pipe.end()
        await self.admission.all_left()
        await self.streams.all_left()
        await self.jobs.all_done()

    async def close(self) -> None:
        """End the threads."""
        await self.jobs.close()
        self.words.close()
        for pool in (self._decoders, self._background):
            pool.shutdown(cancel_futures=True)
        self.tower.close()

    async def hear(
        self, recordings: Sequence[Recording], deadline: Deadline, *, each_window: bool = False
    ) -> list[EmbeddedRecording | Refusal]:
        """Each recording heard, or why it could not be; in their order."""
        work = partial(
            hear,
            encoder=self.urgent,
            longest=self.limits.seconds,
            deadline=deadline,
            each_window=each_window,
        )
        return await self._each(recordings, work, self._decoders, lambda: None)

    async def calibrate(
        self, job: Job, upload: Upload, words: Vocabulary, preset: str
    ) -> dict[str, Any]:
        """The work of a job whose recordings were uploaded."""
        try:
            job.begin("reading")
            work = partial(
                hear,
                encoder=self.patient,
                longest=self.limits.seconds,
                deadline=Deadline(math.inf),
            )
            heard = await self._each(upload.recordings, work, self._background, job.step)
        finally:
            upload.close()
        sounds = [sound for sound in heard if isinstance(sound, EmbeddedRecording)]
        bad = [refusal for refusal in heard if isinstance(refusal, Refusal)]
        if not sounds:
            raise all_bad(bad)
        batch = Batch(
            np.stack([sound.embedding for sound in sounds]),
            [sound.file for sound in sounds],
            np.zeros(len(sounds)),
            np.array([sound.seconds for sound in sounds]),
            "clip",
            self.encoder.id,
            self.encoder.fingerprint,
        )
        return await self.calibrate_batch(job, batch, words, preset, bad)

    async def calibrate_batch(
        self,
        job: Job,
        batch: Batch,
        words: Vocabulary,
        preset: str,
        skipped: Sequence[Refusal] = (),
    ) -> dict[str, Any]:
        """The work of a job from its embeddings on."""
        job.begin("calibrating")
        # A calibration that is given up may still write there.
        with tempfile.TemporaryDirectory(
            prefix="prism-calibration-", ignore_cleanup_errors=True
        ) as folder:
            adapter, result = await calibrated(
                batch, words, place=job.site, preset=preset, folder=Path(folder)
            )
        job.begin("storing")
        site = Site(job.site, adapter)
        await asyncio.to_thread(self.sites.put, site)
        return {
            "site": site.describe(self.encoder),
            "clips": len(batch),
            "skipped": [failed(refusal) for refusal in skipped],
            **result,
        }

    async def _each(
        self,
        recordings: Sequence[Recording],
        work: Callable[[Recording], EmbeddedRecording],
        threads: ThreadPoolExecutor,
        step: Callable[[], None],
    ) -> list[EmbeddedRecording | Refusal]:
        loop = asyncio.get_running_loop()
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(recording: Recording) -> EmbeddedRecording | Refusal:
            async with turn:
                try:
                    return await loop.run_in_executor(threads, work, recording)
                except Refusal as refusal:
                    if refusal.file is None:  # the request is to blame, not the recording
                        raise
                    return refusal
                finally:
                    step()

        # All of them, also after a failure: no thread may be left that still reads the upload.
        results = await asyncio.gather(*map(one, recordings), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not (
                isinstance(result, Refusal) and result.file is not None
            ):
                raise result
        return results  # type: ignore[return-value]

    def _zero_shot(self) -> Site:
        labels = read_labels(self.settings.labels or DEFAULT_LABELS)
        words = self.words.vocabulary(labels, self.words.prompts(None))
        return Site("default", words.adapter(), made=False)


def all_bad(refusals: Sequence[Refusal]) -> Refusal:
    """The answer where not one recording could be used."""
    first = refusals[0]
    if len(refusals) == 1:
        return first
    return Refusal(
        422,
        first.code,
        f"none of the {len(refusals)} recordings can be used; the first, {first.file}: {first}",
        file=first.file,
    )


def _encoder(settings: ServiceSettings, adapters: Sequence[Adapter]) -> Encoder:
    if settings.encoder is not None and not isinstance(settings.encoder, str):
        return settings.encoder
    name = settings.encoder or next((a.encoder for a in adapters if a.encoder), DEFAULT)
    return load_encoder(name)


def _refuse_twins(paths: Sequence[Path], sites: Sequence[Site]) -> None:
    seen: dict[str, Path] = {}
    for path, site in zip(paths, sites, strict=True):
        if (twin := seen.setdefault(site.name, path)) is not path:
            raise InputError(
                f"{twin} and {path} would both be the site {site.name!r}; rename one of the files"
            )

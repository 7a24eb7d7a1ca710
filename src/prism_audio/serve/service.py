"""The service behind the routes: encoder, sites, threads and jobs, and how they answer a request."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import DEFAULT, load_encoder
from prism_audio.errors import InputError
from prism_audio.io.runtime import usable_cores
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.labelling.labeller import Labeller
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.byte_pipe import BytePipe
from prism_audio.serve.calibration_process import run_calibration
from prism_audio.serve.concurrency import ConcurrencyLimit, Deadline
from prism_audio.serve.embed_recording import EmbeddedRecording, embed_recording
from prism_audio.serve.embedding_queue import PATIENT, URGENT, EmbeddingQueue, SharedEncoder
from prism_audio.serve.errors import ApiError, all_failed
from prism_audio.serve.jobs import Job, Jobs
from prism_audio.serve.label_vectors import LabelVectors, parse_labels, relabel
from prism_audio.serve.metrics import Metrics
from prism_audio.serve.recording_schemas import FailedRecording
from prism_audio.serve.row_cache import RowCache
from prism_audio.serve.settings import DEFAULT_LABELS, ServiceSettings
from prism_audio.serve.site_schemas import CalibrationResult
from prism_audio.serve.sites import Site, Sites, name_of
from prism_audio.serve.uploads import Recording, Upload

# Recordings of one request that are decoded at once: more would let a large one push others back.
AT_ONCE = 2


class Service:
    """Everything that outlives a request.

    Attributes
    ----------
    urgent, patient : SharedEncoder
        The encoder for requests, and for calibrations.
    requests, streams : ConcurrencyLimit
        Slots for requests and for live streams.
    pipes : set of BytePipe
        The samples of live streams; ended when the service stops.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.limits = settings, settings.limits
        adapters = [Adapter.load(path) for path in settings.adapters]
        self.encoder = _load_encoder(settings, adapters)
        for path, adapter in zip(settings.adapters, adapters, strict=True):
            refuse_other_encoder(adapter, self.encoder.fingerprint, self.encoder.id, str(path))
        self.label_vectors = LabelVectors(self.encoder, PromptSet.load(settings.prompts))
        initial = [
            Site(name_of(path), a) for path, a in zip(settings.adapters, adapters, strict=True)
        ]
        _refuse_same_name(settings.adapters, initial)
        self.sites = Sites(initial or [self._zero_shot_site()], self.encoder, settings.store)
        self.rows = RowCache(self.encoder, settings.store and settings.store / "rows")
        self.requests = ConcurrencyLimit(self.limits.requests, "requests are being answered")
        self.streams = ConcurrencyLimit(self.limits.live, "live streams are open")
        self.pipes: set[BytePipe] = set()
        self.metrics = Metrics()
        self.jobs = Jobs(
            self.limits.jobs,
            lambda job: self.metrics.jobs.labels(job.site, job.state).inc(),
            settings.store and settings.store / "jobs",
        )

    def start(self) -> None:
        """Start the threads; needs a running event loop."""
        # Many threads make small products here: one core each is faster, and a fork beside a
        # product on several cores can hang OpenBLAS for ever.
        threadpool_limits(1, user_api="blas")
        self.queue = EmbeddingQueue(self.encoder)
        self.urgent = SharedEncoder(self.queue, URGENT)
        self.patient = SharedEncoder(self.queue, PATIENT)
        # More than cores: while one waits for the encoder the others decode for its next batch.
        self._decoders = ThreadPoolExecutor(8 * usable_cores(), thread_name_prefix="decode")
        self._background = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="calibrate")
        self.jobs.start()
        self._watch()

    async def drain(self) -> None:
        """Refuse new requests, and wait until all that was accepted is done."""
        self.requests.stopping = self.streams.stopping = True
        for pipe in self.pipes:
            pipe.end()
        await self.requests.wait_idle()
        await self.streams.wait_idle()
        await self.jobs.wait_idle()

    async def close(self) -> None:
        """End the threads."""
        await self.jobs.close()
        self.label_vectors.close()
        for pool in (self._decoders, self._background):
            pool.shutdown(cancel_futures=True)
        self.queue.close()
        self.sites.close()

    async def labeller(self, site: Site, labels: str | None, deadline: Deadline) -> Labeller:
        """The labeller of a site, with other labels where a client sent some."""
        if labels is None:
            return site.labeller
        names = parse_labels(labels, self.limits)
        prompts = self.label_vectors.prompts_of(site.adapter)
        words = await self.label_vectors.compute(names, prompts, deadline)
        return Labeller(relabel(site.adapter, words))

    async def embed(
        self, recordings: Sequence[Recording], deadline: Deadline
    ) -> list[EmbeddedRecording | ApiError]:
        """Embed recordings: each with its embedding, or with the error; in their order."""
        work = partial(self._embed_once, encoder=self.urgent, deadline=deadline)
        return await self._each(recordings, work, self._decoders, lambda: None)

    def kept(self, ids: Sequence[str]) -> list[EmbeddedRecording | ApiError]:
        """Recordings that were embedded before, by their ids; call it from a thread."""
        return [self.rows.get(id) or _not_kept(id) for id in ids]

    def _embed_once(
        self, recording: Recording, encoder: Encoder, deadline: Deadline
    ) -> EmbeddedRecording:
        id = self.rows.id_of(recording)
        if (known := self.rows.get(id)) is not None:
            return known.named(recording.name)
        embedded = embed_recording(
            recording, encoder, row=id, longest=self.limits.seconds, deadline=deadline
        )
        self.rows.put(embedded)
        return embedded

    async def calibrate(
        self, job: Job, upload: Upload, words: Vocabulary, preset: str, take_weaker: bool
    ) -> CalibrationResult:
        """The work of a job whose recordings were uploaded."""
        work = partial(self._embed_once, encoder=self.patient, deadline=Deadline(math.inf))
        try:
            job.begin("reading")
            results = await self._each(upload.recordings, work, self._background, job.step)
        finally:
            upload.close()
        return await self.calibrate_rows(job, results, words, preset, take_weaker)

    async def calibrate_rows(
        self,
        job: Job,
        results: Sequence[EmbeddedRecording | ApiError],
        words: Vocabulary,
        preset: str,
        take_weaker: bool,
    ) -> CalibrationResult:
        """The work of a job from its embeddings on."""
        recordings = [result for result in results if isinstance(result, EmbeddedRecording)]
        errors = [result for result in results if isinstance(result, ApiError)]
        if not recordings:
            raise all_failed(errors)
        seconds = np.array([np.nan if r.seconds is None else r.seconds for r in recordings])
        batch = Batch(
            np.stack([recording.embedding for recording in recordings]),
            [recording.file for recording in recordings],
            np.where(np.isnan(seconds), np.nan, 0.0),
            seconds,
            "row" if np.isnan(seconds).any() else "clip",
            self.encoder.id,
            self.encoder.fingerprint,
        )
        job.begin("calibrating")
        # A calibration that is given up may still write there.
        with tempfile.TemporaryDirectory(
            prefix="prism-calibration-", ignore_cleanup_errors=True
        ) as folder:
            adapter, report = await run_calibration(
                batch, words, place=job.site, preset=preset, folder=Path(folder)
            )
        job.begin("storing")
        put = partial(self.sites.put, take_weaker=take_weaker)
        site = await asyncio.to_thread(put, Site(job.site, adapter), "calibration")
        version = site.history.versions[-1].version
        return CalibrationResult(
            site=site.summary(self.encoder),
            version=version,
            taken=version == site.history.in_use,
            clips=len(batch),
            skipped=[FailedRecording.of(error) for error in errors],
            **dict(report),
        )

    async def _each(
        self,
        recordings: Sequence[Recording],
        work: Callable[[Recording], EmbeddedRecording],
        threads: ThreadPoolExecutor,
        step: Callable[[], None],
    ) -> list[EmbeddedRecording | ApiError]:
        loop = asyncio.get_running_loop()
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(recording: Recording) -> EmbeddedRecording | ApiError:
            async with turn:
                try:
                    return await loop.run_in_executor(threads, work, recording)
                except ApiError as error:
                    if error.file is None:  # the request is to blame, not the recording
                        raise
                    return error
                finally:
                    step()

        # All of them, also after a failure: no thread may be left that still reads the upload.
        results = await asyncio.gather(*map(one, recordings), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not (
                isinstance(result, ApiError) and result.file is not None
            ):
                raise result
        return results  # type: ignore[return-value]

    def _watch(self) -> None:
        metrics, queue = self.metrics, self.queue
        for name, about, value in (
            ("prism_requests_inside", "Requests being answered.", lambda: self.requests.active),
            ("prism_windows_waiting", "Windows waiting for the encoder.", lambda: queue.waiting),
            ("prism_jobs_waiting", "Calibrations that wait or run.", lambda: self.jobs.waiting),
            ("prism_sites", "Sites known.", lambda: len(self.sites)),
        ):
            metrics.watch_gauge(name, about, value)
        metrics.watch_counter("prism_windows", "Windows embedded.", lambda: queue.windows)
        metrics.watch_counter("prism_batches", "Batches embedded.", lambda: queue.batches)

    def _zero_shot_site(self) -> Site:
        labels = read_labels(self.settings.labels or DEFAULT_LABELS)
        words = self.label_vectors.vocabulary(labels, self.label_vectors.prompts(None))
        return Site("default", words.adapter())


def _not_kept(id: str) -> ApiError:
    message = "the service does not keep this recording any more; send its sound"
    return ApiError(404, "unknown_row", message, file=id)


def _load_encoder(settings: ServiceSettings, adapters: Sequence[Adapter]) -> Encoder:
    if settings.encoder is not None and not isinstance(settings.encoder, str):
        return settings.encoder
    name = settings.encoder or next((a.encoder for a in adapters if a.encoder), DEFAULT)
    return load_encoder(name)


def _refuse_same_name(paths: Sequence[Path], sites: Sequence[Site]) -> None:
    seen: dict[str, Path] = {}
    for path, site in zip(paths, sites, strict=True):
        if (first := seen.setdefault(site.name, path)) is not path:
            raise InputError(
                f"{first} and {path} would both be the site {site.name!r}; rename one of the files"
            )

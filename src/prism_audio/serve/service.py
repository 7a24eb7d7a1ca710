"""The service behind the routes: encoder, sites, threads and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from prism_audio.encoders.prompts import PromptSet, read_labels
from prism_audio.encoders.protocol import Encoder
from prism_audio.encoders.registry import DEFAULT, load_encoder
from prism_audio.errors import InputError
from prism_audio.labelling.calibration import refuse_other_encoder
from prism_audio.labelling.labeller import Labeller
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.byte_pipe import BytePipe
from prism_audio.serve.embedding import Embedder
from prism_audio.serve.jobs import Jobs
from prism_audio.serve.label_vectors import LabelVectors, parse_labels, relabel
from prism_audio.serve.live_sources import LiveSources
from prism_audio.serve.metrics import Metrics
from prism_audio.serve.middleware import Slots
from prism_audio.serve.settings import DEFAULT_LABELS, ServiceSettings
from prism_audio.serve.site import Site, name_of
from prism_audio.serve.sites import Sites


class Service:
    """Everything that outlives a request.

    Attributes
    ----------
    embedder : Embedder
        What embeds recordings, and keeps them.
    requests, streams : Slots
        For requests that bring work, and for live streams.
    pipes : set of BytePipe
        The samples of live streams; ended when the service stops.
    sources : LiveSources
        Live streams that others may listen to.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.limits = settings, settings.limits
        adapters = [Adapter.load(path) for path in settings.adapters]
        self.encoder = _load_encoder(settings, adapters)
        for path, adapter in zip(settings.adapters, adapters, strict=True):
            refuse_other_encoder(adapter, self.encoder.fingerprint, self.encoder.id, str(path))
        prompts = PromptSet.load(settings.prompts)
        self.label_vectors = LabelVectors(self.encoder, prompts, self.limits.request_seconds)
        initial = [
            Site(name_of(path), a) for path, a in zip(settings.adapters, adapters, strict=True)
        ]
        _refuse_same_name(settings.adapters, initial)
        self.sites = Sites(initial or [self._zero_shot_site()], self.encoder, settings.store)
        folder = settings.store and settings.store / "rows"
        self.embedder = Embedder(self.encoder, self.limits, folder)
        self.requests = Slots(self.limits.requests, "requests are being answered")
        self.streams = Slots(self.limits.live, "live streams are open")
        self.pipes: set[BytePipe] = set()
        self.sources = LiveSources()
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
        self.embedder.start()
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
        self.embedder.close()
        self.sites.close()

    async def labeller(self, site: Site, labels: str | None, background: str | None) -> Labeller:
        """The labeller of a site, with other labels or background words where a client sent some."""
        if labels is None and background is None:
            return site.labeller
        words = await self.vocabulary(site.adapter, labels, background)
        return Labeller(relabel(site.adapter, words))

    async def vocabulary(
        self,
        adapter: Adapter,
        labels: str | None,
        background: str | None,
        prompts: str | None = None,
    ) -> Vocabulary:
        """The classes of an adapter, with what a client sent instead: comma lists, a set of prompts."""
        if labels is None and background is None and prompts is None:
            return Vocabulary.of(adapter)
        reported = len(adapter.labels) - (adapter.facts.background or 0)
        names: Sequence[str] = adapter.labels[:reported]
        if labels is not None:
            names = parse_labels(labels, self.limits)
        others = [word for word in adapter.labels[reported:] if word not in names]
        if background is not None:
            others = parse_labels(background, self.limits) if background.strip() else []
        vectors = self.label_vectors
        chosen = vectors.prompts(prompts) if prompts else vectors.prompts_of(adapter)
        return await vectors.compute(names, others, chosen)

    def _watch(self) -> None:
        metrics, queue = self.metrics, self.embedder.queue
        for name, about, value in (
            ("prism_requests_inside", "Requests being answered.", lambda: self.requests.active),
            ("prism_tasks_waiting", "Requests waiting for the encoder.", lambda: queue.waiting),
            ("prism_jobs_waiting", "Calibrations that wait or run.", lambda: self.jobs.waiting),
            ("prism_sites", "Sites known.", lambda: len(self.sites)),
        ):
            metrics.watch_gauge(name, about, value)
        metrics.watch_counter("prism_windows", "Windows embedded.", lambda: queue.windows)
        metrics.watch_counter("prism_batches", "Batches embedded.", lambda: queue.batches)

    def _zero_shot_site(self) -> Site:
        labels = read_labels(self.settings.labels or DEFAULT_LABELS)
        words = self.label_vectors.vocabulary(labels, (), self.label_vectors.prompts(None))
        return Site("default", words.adapter())


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

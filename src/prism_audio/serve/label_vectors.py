"""Labels that clients send, and their text vectors, which are cached."""

from __future__ import annotations

import asyncio
import csv
import math
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from prism_audio.encoders.prompts import PromptSet, prototypes, read_labels
from prism_audio.encoders.protocol import Encoder
from prism_audio.errors import InputError, PrismError
from prism_audio.io.types import Float32
from prism_audio.model.adapter import Adapter
from prism_audio.model.vocabulary import Vocabulary
from prism_audio.serve.errors import ApiError, too_slow
from prism_audio.serve.settings import Limits

# The sets a client may name; a path is for operators alone.
SHIPPED_PROMPTS = ("sentences", "plain", "paper")
# Labels whose vectors are cached: 8 MB in the embedded space.
CACHED = 4096


def parse_labels(text: str, limits: Limits) -> list[str]:
    """Labels of a comma list, checked; never the name of a file."""
    try:
        row = next(csv.reader([",".join(text.splitlines())], skipinitialspace=True), [])
        labels = read_labels(row)
        if len(labels) > limits.labels:
            raise InputError(f"{len(labels)} labels were given, and {limits.labels} are the most")
        for label in labels:
            if len(label) > limits.label_characters:
                raise InputError(
                    f"a label has {len(label)} characters, and {limits.label_characters} are the "
                    f"most: {label[:40]!r}..."
                )
            if any(unicodedata.category(character) in ("Cc", "Cs") for character in label):
                raise InputError(f"the label {label!r} holds characters that are not text")
    except (InputError, csv.Error) as error:
        raise ApiError(
            422,
            "bad_labels",
            f"{str(error).rstrip('.')}. Send a comma list such as: dog bark, siren",
        ) from None
    return labels


class LabelVectors:
    """Text vectors of labels.

    A label's vector depends on nothing but the label and the prompts, so lists share them.
    """

    def __init__(self, encoder: Encoder, prompts: PromptSet, seconds: float) -> None:
        self._encoder, self._prompts, self._seconds = encoder, prompts, seconds
        self._shipped = {name: PromptSet.load(name) for name in SHIPPED_PROMPTS}
        self._cache: OrderedDict[tuple[str, str], Float32] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="text")

    def prompts(self, name: str | None) -> PromptSet:
        """The shipped prompts of that name, or those of the service."""
        return self._shipped[name] if name else self._prompts

    def prompts_of(self, adapter: Adapter) -> PromptSet:
        """The prompts of an adapter where they are known here, or those of the service."""
        known = {prompts.fingerprint: prompts for prompts in self._shipped.values()}
        return known.get(adapter.prompts_fingerprint, self._prompts)

    def vocabulary(
        self,
        labels: Sequence[str],
        background: Sequence[str],
        prompts: PromptSet,
        until: float = math.inf,
    ) -> Vocabulary:
        """Labels and background words with their vectors; computes those that are not cached."""
        rows = []
        names = (*labels, *background)
        if twice := sorted({*labels} & {*background}):
            raise InputError(f"{twice[0]!r} is a label and a background word; name it once")
        for label in names:
            if time.monotonic() > until:
                raise too_slow(self._seconds)
            rows.append(self._vector(label, prompts))
        return Vocabulary(
            names,
            np.stack(rows),
            self._encoder.id,
            self._encoder.fingerprint,
            prompts.name,
            prompts.fingerprint,
            len(background),
        )

    async def compute(
        self, labels: Sequence[str], background: Sequence[str], prompts: PromptSet
    ) -> Vocabulary:
        """The same on a thread, so that the event loop goes on, and within the time of a request."""
        loop, until = asyncio.get_running_loop(), time.monotonic() + self._seconds
        try:
            return await loop.run_in_executor(
                self._threads, self.vocabulary, labels, background, prompts, until
            )
        except ApiError:
            raise
        except PrismError as error:
            raise ApiError(422, "bad_labels", str(error)) from None

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def _vector(self, label: str, prompts: PromptSet) -> Float32:
        key = (prompts.fingerprint, label)
        with self._lock:
            if (cached := self._cache.get(key)) is not None:
                self._cache.move_to_end(key)
                return cached
        row: Float32 = prototypes(self._encoder, [label], prompts)[0]
        with self._lock:
            self._cache[key] = row
            while len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return row


def relabel(adapter: Adapter, words: Vocabulary) -> Adapter:
    """The same map with other classes.

    Thresholds were learnt with the old classes and are left out.
    """
    background = words.background or None
    facts = replace(
        adapter.facts,
        unknown_threshold=None,
        label_thresholds=(),
        label_onsets=(),
        classes=None,
        surroundings=None,
        background=background,
    )
    T = words.prototypes.astype(adapter.W.dtype)
    return replace(adapter, prototypes=T, labels=words.labels, facts=facts)

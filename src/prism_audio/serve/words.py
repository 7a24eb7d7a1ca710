"""Labels from clients, and their text vectors: made once each, off the event loop."""

from __future__ import annotations

import asyncio
import csv
import threading
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
from prism_audio.serve.hearing import Deadline
from prism_audio.serve.refusal import Refusal
from prism_audio.serve.settings import Limits

# The sets a client may name; a path is for operators alone.
SHIPPED_PROMPTS = ("paper", "plain")
# Labels whose vectors are kept: 8 MB in the embedded space.
_KEPT = 4096


def client_labels(text: str, limits: Limits) -> list[str]:
    """Clean labels from a comma list; it never names a file, whatever it looks like."""
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
        raise Refusal(
            422, "bad_labels", f"{str(error).rstrip('.')}. Wanted is a comma list: dog bark, siren"
        ) from None
    return labels


class LabelVectors:
    """Text vectors of labels.

    A label's vector depends on nothing but the label and the prompts, so lists share them.
    """

    def __init__(self, encoder: Encoder, prompts: PromptSet) -> None:
        self._encoder, self._prompts = encoder, prompts
        self._shipped = {name: PromptSet.load(name) for name in SHIPPED_PROMPTS}
        self._kept: OrderedDict[tuple[str, str], Float32] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="text")

    def prompts(self, name: str | None) -> PromptSet:
        """The shipped set of that name, or the operator's own."""
        return self._shipped[name] if name else self._prompts

    def prompts_of(self, adapter: Adapter) -> PromptSet:
        """The set that an adapter's labels were put into, as far as it is known here."""
        known = {prompts.fingerprint: prompts for prompts in self._shipped.values()}
        return known.get(adapter.prompts_fingerprint, self._prompts)

    def vocabulary(
        self, labels: Sequence[str], prompts: PromptSet, deadline: Deadline | None = None
    ) -> Vocabulary:
        """The classes; waits for those vectors that are not known yet."""
        rows = []
        for label in labels:
            if deadline is not None:
                deadline.check()
            rows.append(self._vector(label, prompts))
        return Vocabulary(
            tuple(labels),
            np.stack(rows),
            self._encoder.id,
            self._encoder.fingerprint,
            prompts.name,
            prompts.fingerprint,
        )

    async def ask(
        self, labels: Sequence[str], prompts: PromptSet, deadline: Deadline
    ) -> Vocabulary:
        """The same, without holding up the event loop."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._threads, self.vocabulary, labels, prompts, deadline
            )
        except Refusal:
            raise
        except PrismError as error:
            raise Refusal(422, "bad_labels", str(error)) from None

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def _vector(self, label: str, prompts: PromptSet) -> Float32:
        key = (prompts.fingerprint, label)
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return kept
        row: Float32 = prototypes(self._encoder, [label], prompts)[0]
        with self._lock:
            self._kept[key] = row
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return row


def reworded(adapter: Adapter, words: Vocabulary) -> Adapter:
    """The same place with other classes: its map is kept, the text vectors are new.

    How sure a score is was learnt with the old classes; the scale of it carries over, the threshold
    does not.
    """
    facts = replace(adapter.facts, unknown_threshold=None, classes=None, surroundings=None)
    T = words.prototypes.astype(adapter.W.dtype)
    return replace(adapter, prototypes=T, labels=words.labels, facts=facts)

"""The classes to tell apart: their names, their text vectors, and where both come from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_audio.errors import InputError
from prism_audio.io.limits import refuse_too_large
from prism_audio.io.matrices import read_matrix
from prism_audio.model.adapter import Adapter
from prism_audio.model.facts import Facts

if TYPE_CHECKING:
    from prism_audio.encoders.prompts import PromptSet
    from prism_audio.encoders.protocol import Encoder


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Labels with their prototypes."""

    labels: tuple[str, ...]  # the names of the classes
    prototypes: np.ndarray  # (C, d): their text vectors
    # Provenance, as in :class:`~prism_audio.model.adapter.Adapter`; empty where it is not known.
    encoder: str = ""
    encoder_fingerprint: str = ""
    prompts: str = ""
    prompts_fingerprint: str = ""
    # How many of them, the last ones, are background words: they compete and are not reported.
    background: int = 0

    @classmethod
    def from_text(
        cls,
        encoder: Encoder,
        labels: Sequence[str],
        prompts: PromptSet,
        background: Sequence[str] = (),
    ) -> Vocabulary:
        """The labels and the background words, put into prompts and embedded."""
        from prism_audio.encoders.text_cache import cached_prototypes

        twice = sorted({*labels} & {*background})
        if twice:
            raise InputError(f"{twice[0]!r} is a label and a background word; name it once")
        names = (*labels, *background)
        refuse_too_large(0, encoder.dim, len(names))
        return cls(
            names,
            cached_prototypes(encoder, names, prompts),
            encoder.id,
            encoder.fingerprint,
            prompts.name,
            prompts.fingerprint,
            len(background),
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], labels: Sequence[str] = ()) -> Vocabulary:
        """Prototypes from a file of arrays; the labels from it too, unless they are given."""
        found = read_matrix(path, "prototypes")
        names = tuple(labels) or found.labels
        if not names:
            raise InputError(f"{path} names no classes; say them with --labels, one a prototype")
        if len(names) != len(found.rows):
            raise InputError(
                f"{len(names)} labels for the {len(found.rows)} prototypes of {path}; "
                "wanted one for each, in their order"
            )
        return cls(names, found.rows)

    @classmethod
    def of(cls, adapter: Adapter) -> Vocabulary:
        """The classes of an adapter."""
        background = adapter.facts.background or 0
        return cls(
            adapter.labels, adapter.prototypes, **_provenance(adapter), background=background
        )

    def adapter(self) -> Adapter:
        """Plain zero-shot with these classes."""
        facts = Facts(background=self.background or None)
        return Adapter.zero_shot(self.prototypes, self.labels, **_provenance(self), facts=facts)


def _provenance(of: Any) -> dict[str, str]:
    names = ("encoder", "encoder_fingerprint", "prompts", "prompts_fingerprint")
    return {name: getattr(of, name) for name in names}

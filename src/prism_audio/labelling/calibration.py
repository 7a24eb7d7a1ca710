"""Calibrate a place: PRISM on a batch, with the evidence that its adapter's card shows.

What ``PRISM`` learns is kept as it is. Added to the adapter's facts are
the name of the place, per class the confidence before and after and what deflation took from it, and
the few numbers by which a stream is told from the calibration.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_audio.errors import AdapterError, InputError
from prism_audio.geometry import abr, ccvd, compose, opca, overlap, soft
from prism_audio.geometry.car import class_confidence
from prism_audio.geometry.parameters import Parameters
from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.rows import original
from prism_audio.geometry.source import InMemory, RowSource, pick
from prism_audio.geometry.sphere import Labels, assign, class_sums, row_norms, unit_rows
from prism_audio.io.arrays import as_rows
from prism_audio.io.types import Float
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.drift import surroundings
from prism_audio.labelling.sheet import SheetRow, read_sheet, sheet_classes
from prism_audio.model.facts import ClassEvidence, Facts
from prism_audio.model.truth import UNLABELLED
from prism_audio.model.vocabulary import Vocabulary

if TYPE_CHECKING:
    from prism_audio.model.adapter import Adapter
    from prism_audio.model.estimator import PRISM

# Rows on which the card of a calibration on more than memory holds is based.
EVIDENCE_ROWS = 16_384


def estimator(preset: str = "default", car: bool = False) -> PRISM:
    """The estimator of a preset, with CAR or as the preset has it.

    Call it before anything costly to find out whether there is such a preset.
    """
    from prism_audio.model.estimator import PRISM
    from prism_audio.model.presets import PRESETS

    if preset not in PRESETS:
        raise InputError(f"preset {preset!r} is unknown; choose one of {', '.join(PRESETS)}")
    if not car:
        return PRISM(preset)
    # CAR acts on the targets of the regression, of which a composed map has none; nor has it a guard.
    rounds = PRESETS["paper"].rounds
    return PRISM(preset, car=True, compilation="regression", rounds=rounds, guard=False)


def read_labelled(
    sheet: str | os.PathLike[str] | None, words: Vocabulary, preset: str, car: bool = False
) -> list[SheetRow]:
    """The lines of a sheet of labels, none without one; checked before anything costly.

    Raises
    ------
    InputError
        If it cannot be read, says what is not a class, or the preset does not use labels.
    """
    if sheet is None:
        return []
    if not estimator(preset, car).uses_labels:
        raise InputError("labels are used by the preset 'default' without CAR; leave out the other")
    lines = read_sheet(sheet)
    if all(label == UNLABELLED for label in sheet_classes(lines, words.labels)):
        raise InputError(f"{sheet} has no label yet; fill in its column 'label'")
    return lines


def calibrate_place(
    batch: Batch,
    words: Vocabulary,
    *,
    place: str = "",
    preset: str = "default",
    car: bool = False,
    y: Labels | None = None,
) -> Adapter:
    """The adapter of a place from its rows and the classes to tell apart.

    Parameters
    ----------
    batch : Batch
        What was recorded there.
    words : Vocabulary
        The classes.
    place : str
        A name for the adapter's card.
    preset, car : str, bool
        See :func:`estimator`.
    y : (N,) array, optional
        Classes of rows that a person has labelled, -1 elsewhere.
    """
    refuse_other_encoder(words, batch.fingerprint, batch.encoder)
    model = estimator(preset, car).fit(
        batch.embeddings, y, prototypes=words.prototypes, labels=words.labels
    )
    lengths = batch.end - batch.start
    seconds = round(float(np.nanmedian(lengths)), 3) if np.isfinite(lengths).any() else None
    facts = replace(model.adapter_.facts, place=place, row=batch.row, seconds=seconds)
    made_by = (batch.encoder, batch.fingerprint)
    return described(model, batch.embeddings, model.labels_, words, made_by, facts)


def calibrate_rows(
    source: RowSource,
    words: Vocabulary,
    *,
    place: str = "",
    preset: str = "default",
    car: bool = False,
    encoder: str = "",
    fingerprint: str = "",
    y: Labels | None = None,
) -> Adapter:
    """The adapter of a place from rows that need not fit into memory.

    What the card tells of the classes is then found on a sample of :data:`EVIDENCE_ROWS` rows.
    ``encoder`` and ``fingerprint`` say what made the rows, where that is known; ``y`` is as in
    :func:`calibrate_place`.
    """
    refuse_other_encoder(words, fingerprint, encoder)
    model = estimator(preset, car).fit(source, y, prototypes=words.prototypes, labels=words.labels)
    sample = pick(source, EVIDENCE_ROWS)
    labels = model.adapter_.predict(sample)
    facts = replace(model.adapter_.facts, place=place, evidence_rows=len(sample))
    return described(model, sample, labels, words, (encoder, fingerprint), facts)


def described(
    model: PRISM,
    rows: Float,
    y: Labels,
    words: Vocabulary,
    made_by: tuple[str, str],
    facts: Facts,
) -> Adapter:
    """The adapter of a model with what its card shows, as seen on ``rows`` with labels ``y``."""
    adapter = model.adapter_
    encoder, fingerprint = made_by
    return replace(
        adapter,
        encoder=words.encoder or encoder,
        encoder_fingerprint=words.encoder_fingerprint or fingerprint,
        prompts=words.prompts,
        prompts_fingerprint=words.prompts_fingerprint,
        facts=replace(
            facts,
            classes=class_evidence(rows, adapter, model.parameters_),
            surroundings=surroundings(rows, y, len(words.labels)),
            background=words.background or None,
        ),
    )


def refuse_other_encoder(
    made: Vocabulary | Adapter, fingerprint: str, encoder: str, what: str = "the classes"
) -> None:
    """Raise where ``what`` was made for another encoder than the one embeddings come from."""
    mine = made.encoder_fingerprint
    if mine and fingerprint and mine != fingerprint:
        raise AdapterError(
            f"{what}: made for the encoder {made.encoder} ({mine[:12]}), and these embeddings are "
            f"by {encoder} ({fingerprint[:12]}), which is another space. Calibrate the place again "
            "('prism calibrate'), or use the encoder it was made for (--encoder)"
        )


def class_evidence(E: Any, adapter: Adapter, params: Parameters) -> ClassEvidence:
    """Per class, in the order of the labels: clips and confidence before and after, what was lost.

    ``removed`` is the fraction of the class's spread that the deflation takes away, and ``trapped``
    whether that marks it as a victim of the Polyphonic Trap
    (:mod:`prism_audio.geometry.overlap`). Both are found under the final labels on the rows as the
    encoder gave them, aligned with the text where the map was regressed from rounds: later rounds
    see rows that are deflated already.
    """
    rows = unit_rows(as_rows(E, "E")[0])
    T = adapter.prototypes.astype(rows.dtype)
    C = len(T)
    after = adapter.predict(rows)
    scores = np.empty(len(rows))
    for block in row_blocks(len(rows)):
        S = adapter.scores(rows[block])
        scores[block] = S[np.arange(len(S)), after[block]]
    evidence: dict[str, Any] = {}
    for when, (y, kappa) in (("before", assign(rows, T)), ("after", (after, scores))):
        confidence, occurs = class_confidence(kappa, y, C)
        evidence[f"clips_{when}"] = tuple(np.bincount(y, minlength=C).tolist())
        evidence[f"confidence_{when}"] = _rounded(np.where(occurs, confidence, np.nan))
    if adapter.facts.verdict != "zero-shot" and params.deflation != "none":
        sounding = row_norms(rows) > 0
        lost = _overlap(rows[sounding], T, after[sounding], params)
        evidence["removed"] = _rounded(lost.removed)
        evidence["rank"] = tuple(lost.rank.tolist())
        evidence["rank_rule"] = tuple(lost.rank_rule.tolist())
        evidence["trapped"] = tuple(lost.trapped.tolist())
    return ClassEvidence(**evidence)


def _overlap(rows: Float, T: Float, y: Labels, params: Parameters) -> overlap.Overlap:
    """Overlap with the gain that the final map holds, on the rows that it is applied to."""
    C = len(T)
    gain: Float
    if params.compilation == "composition":
        n_c = np.bincount(y, minlength=C).astype(np.float64)
        members = class_sums(rows, y, C, np.ones(len(rows), rows.dtype)).astype(np.float64)
        second = abr.second_moments(InMemory(rows))
        prior = params.prior(C, len(rows))
        shares = compose.Shares(n_c, members)
        gain = compose.find_gain(shares, second, rows.dtype, rho=params.rho, prior=prior)
        return overlap.class_overlap(rows, y, C, gain)
    aligned = opca.opca(rows, T, p=params.p, eps=params.eps) if params.opca else rows
    scatter = ccvd.find_scatter(original(InMemory(aligned), T), C, params.q)
    if params.deflation == "hard":
        gain = overlap.cut(ccvd.noise_subspace(scatter, params.K, params.eps, rows.dtype))
    else:
        gain = soft.soft_gain(scatter.S_W, scatter.rank_bound, params.rho)
    return overlap.class_overlap(aligned, y, C, gain)


def _rounded(values: np.ndarray) -> tuple[float | None, ...]:
    """Numbers for JSON: four places, None where there is none."""
    return tuple(round(float(value), 4) if np.isfinite(value) else None for value in values)

"""From embeddings to what a client reads: labels, scores, probabilities, a timeline."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from prism_audio.geometry.confidence import probabilities
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import Row, classify
from prism_audio.model.adapter import Adapter
from prism_audio.serve.hearing import EmbeddedRecording
from prism_audio.serve.refusal import Refusal


def labelled(
    sound: EmbeddedRecording,
    adapter: Adapter,
    *,
    top: int = 3,
    threshold: float | None = None,
    timeline: bool = False,
) -> dict[str, Any]:
    """What a site says of a recording."""
    unknown = np.array([np.nan])
    batch = Batch(sound.embedding[None], [sound.file], unknown, unknown)
    row = classify(batch, adapter, threshold=threshold, top=top)[0]
    result = {
        "file": sound.file,
        "seconds": round(sound.seconds, 3),
        **_verdict(row),
        "probability": probability(adapter, sound.embedding),
        "runner_up": row.runner_up,
        "margin": row.margin,
        "top": [{"label": label, "score": score} for label, score in row.top],
        "unknown": not row.convinced,
        "error": None,
    }
    if timeline:
        windows = Batch(sound.windows, [sound.file] * len(sound.windows), sound.start, sound.end)
        result["timeline"] = [
            {"start": row.start, "end": row.end, **_verdict(row)}
            for row in classify(windows, adapter, threshold=threshold)
        ]
    return result


def embedded(sound: EmbeddedRecording, *, timeline: bool = False) -> dict[str, Any]:
    """The embedding of a recording, and of its windows."""
    result: dict[str, Any] = {
        "file": sound.file,
        "seconds": round(sound.seconds, 3),
        "embedding": numbers(sound.embedding),
        "error": None,
    }
    if timeline:
        result["timeline"] = [
            {
                "start": round(float(start), 3),
                "end": round(float(end), 3),
                "embedding": numbers(row),
            }
            for start, end, row in zip(sound.start, sound.end, sound.windows, strict=True)
        ]
    return result


def failed(refusal: Refusal) -> dict[str, Any]:
    """A recording that could not be used."""
    return {"file": refusal.file, "error": {"code": refusal.code, "message": str(refusal)}}


def probability(adapter: Adapter, embedding: np.ndarray) -> float | None:
    """How likely the label is right: a softmax at the temperature that the calibration found.

    None without a calibration: cosines alone do not say how sure they are.
    """
    temperature = adapter.facts.temperature
    if temperature is None or not temperature > 0:
        return None
    scores = adapter.scores(embedding[None])
    best = adapter.predict(embedding[None])[0]
    return round(float(probabilities(scores, temperature)[0, best]), 4)


def numbers(vector: np.ndarray) -> list[float]:
    """A float32 vector with no more digits than it has."""
    return [float(str(value)) for value in vector]


def document(head: dict[str, Any], results: list[dict[str, Any]]) -> bytes:
    """An answer as JSON, made piece by piece: one long call would hold up every other thread."""
    opening = json.dumps({**head, "results": []}, allow_nan=False)
    pieces = [json.dumps(result, allow_nan=False) for result in results]
    return (opening.removesuffix("]}") + ", ".join(pieces) + "]}").encode()


def _verdict(row: Row) -> dict[str, Any]:
    return {
        "label": row.label,
        "score": row.score,
        "zero_shot": row.zero_shot,
        "zero_shot_score": row.zero_shot_score,
    }

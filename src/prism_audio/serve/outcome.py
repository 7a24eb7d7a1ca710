"""What a calibration did to its own recordings: counts, changed labels, a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import svd

from prism_audio.geometry.sphere import unit_rows
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import classify, summarise
from prism_audio.labelling.labeller import UNKNOWN
from prism_audio.model.adapter import Adapter

# Points that a page can draw and an eye can tell apart.
MOST_POINTS = 2000


def outcome(batch: Batch, adapter: Adapter) -> dict[str, Any]:
    """Every recording before and after, and the sums of it."""
    rows = classify(batch, adapter)
    summary = summarise(rows)
    number = {label: index for index, label in enumerate(adapter.labels)}
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(int))
    before, after = view(batch.embeddings[shown], adapter)
    counted = [*adapter.labels] + [UNKNOWN] * (UNKNOWN not in number and summary.unknown > 0)
    return {
        "changed": summary.changed,
        "classes": [
            {"label": label, "before": summary.before[label], "after": summary.after[label]}
            for label in counted
        ],
        "clips_table": [
            {
                "file": row.file,
                "zero_shot": row.zero_shot,
                "label": row.label,
                "score": row.score,
                "changed": row.best != row.zero_shot,
            }
            for row in rows
        ],
        "view": {
            "before": before.tolist(),
            "after": after.tolist(),
            "labels": [number[rows[i].best] for i in shown],
            "zero_shot": [number[rows[i].zero_shot] for i in shown],
        },
    }


def view(E: np.ndarray, adapter: Adapter) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings before and after in two dimensions: the two in which they vary most afterwards.

    Of both together, the first would be no more than the way from before to after.
    """
    E = unit_rows(np.asarray(E, dtype=np.float64))
    adapted = adapter.transform(E)
    both = np.concatenate([E, adapted])
    centred = both - both.mean(axis=0)
    axes = svd(adapted - adapted.mean(axis=0), full_matrices=False)[2][:2]
    # The sign of an axis is arbitrary; the largest entry is made positive.
    signs = np.sign(np.take_along_axis(axes, abs(axes).argmax(axis=1)[:, None], axis=1))
    flat = np.zeros((len(both), 2))
    flat[:, : len(axes)] = centred @ (signs * axes).T
    points = np.round(flat, 5)
    return points[: len(E)], points[len(E) :]

"""What a calibration did to its own recordings: counts, changed labels, a picture."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from prism_audio.geometry.sphere import unit_rows
from prism_audio.labelling.batch import Batch
from prism_audio.labelling.classify import classify, summarise
from prism_audio.model.adapter import Adapter
from prism_audio.serve.site_schemas import CalibrationReport, ClassCount, ClipChange, View

# Points that a page can draw and an eye can tell apart.
MOST_POINTS = 2000


def calibration_report(batch: Batch, adapter: Adapter) -> CalibrationReport:
    """Every recording of a calibration before and after, and the counts of the classes."""
    rows = classify(batch, adapter)
    summary = summarise(rows)
    index = {label: number for number, label in enumerate(adapter.labels)}
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(int))
    before, after = project(batch.embeddings[shown], adapter)
    counted = [*adapter.labels, *sorted(set(summary.after) - set(index))]
    return CalibrationReport(
        changed=summary.changed,
        classes=[
            ClassCount(label=label, before=summary.before[label], after=summary.after[label])
            for label in counted
        ],
        clips_table=[
            ClipChange(
                file=row.file,
                zero_shot=row.zero_shot,
                label=row.label,
                score=row.score,
                changed=row.best != row.zero_shot,
            )
            for row in rows
        ],
        view=View(
            before=before.tolist(),
            after=after.tolist(),
            labels=[index[rows[i].best] for i in shown],
            zero_shot=[index[rows[i].zero_shot] for i in shown],
        ),
    )


def project(E: np.ndarray, adapter: Adapter) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings before and after in two dimensions: the two in which they vary most afterwards.

    In the plane of both together, the first axis would show no more than the common shift.
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

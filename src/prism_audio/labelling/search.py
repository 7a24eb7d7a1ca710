"""Search by text or by sound: the rows of a store that are nearest to a query, found exactly.

    score_i = cos([u_i | 1] W, q),    q = the text vector, or [e | 1] W of a sound e

W is the correction of a place's adapter, the identity without one. Rows are read in blocks and only
the best are kept, so memory does not grow with the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from prism_audio.geometry.products import row_blocks
from prism_audio.geometry.sphere import unit_rows
from prism_audio.io.types import Float
from prism_audio.model.adapter import Adapter


class Hit(NamedTuple):
    """A row and its cosine to the query."""

    row: int
    score: float


def nearest(
    blocks: Iterable[Float], query: Float, n: int, adapter: Adapter | None = None
) -> list[Hit]:
    """The ``n`` rows nearest to the unit vector ``query`` (d,), best first, earlier ones first.

    Parameters
    ----------
    blocks : iterable of (n_i, d) arrays
        The rows in order, such as a store.
    query : (d,) array
        A text vector; or an embedding, corrected like the rows.
    n : int
        Rows to find.
    adapter : Adapter, optional
        What corrects the rows.
    """
    rows, scores, first = np.empty(0, dtype=np.intp), np.empty(0), 0
    for block in blocks:
        for part in row_blocks(len(block)):
            X = unit_rows(block[part])
            S = (X if adapter is None else adapter.transform(X)) @ query
            rows = np.concatenate([rows, first + np.arange(len(S))])
            scores = np.concatenate([scores, S.astype(np.float64)])
            best = np.argsort(-scores, kind="stable")[:n]
            rows, scores, first = rows[best], scores[best], first + len(S)
    return [Hit(int(row), float(score)) for row, score in zip(rows, scores, strict=True)]

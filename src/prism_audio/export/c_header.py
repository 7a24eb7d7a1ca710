r"""The head as a C99 header: static arrays and two functions, no library, not even ``math.h``.

    #include "site.h"
    int c = prism_predict(embedding);            /* index of the class */
    puts(prism_labels[c]);

The scores are those of the folded head, <e / |e|, A_c> + b_c. They rank the classes of one clip as
the cosines do; unlike cosines they are not divided by the length of the corrected embedding, which
would need the whole d x d map.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from prism_audio.io import seal
from prism_audio.io.atomic import atomic_write
from prism_audio.model.adapter import Adapter

_TEMPLATE = """\
/* A PRISM head: a zero-shot sound classifier for one place. Written by 'prism export'.
 *
 * place    %(place)s
 * verdict  %(verdict)s
 * encoder  %(encoder)s
 *
 * Give it embeddings of that encoder, of any length (they are normalised here).
 */
#ifndef PRISM_HEAD_H
#define PRISM_HEAD_H

#define PRISM_DIM %(d)d
#define PRISM_CLASSES %(C)d

static const char *const prism_labels[PRISM_CLASSES] = {
%(labels)s
};

/* One adapted prototype a class. */
static const float prism_prototypes[PRISM_CLASSES][PRISM_DIM] = {
%(prototypes)s
};

static const float prism_biases[PRISM_CLASSES] = {
%(biases)s
};

/* Scores of all classes: dot(e / |e|, prototype) + bias. They rank the classes of one embedding. */
static inline void prism_scores(const float *embedding, float *scores)
{
    float peak = 0.0f, square = 0.0f, length = 1.0f;
    int i, c;
    for (i = 0; i < PRISM_DIM; ++i) {
        const float size = embedding[i] < 0.0f ? -embedding[i] : embedding[i];
        if (size > peak)
            peak = size;
    }
    /* Divided by its largest entry no embedding overflows, and its length is at least 1. */
    if (peak > 0.0f) {
        for (i = 0; i < PRISM_DIM; ++i)
            square += (embedding[i] / peak) * (embedding[i] / peak);
        length = square;
        for (i = 0; i < 32; ++i)
            length = 0.5f * (length + square / length); /* Newton's square root */
    } else {
        peak = 1.0f;
    }
    for (c = 0; c < PRISM_CLASSES; ++c) {
        float sum = 0.0f;
        for (i = 0; i < PRISM_DIM; ++i)
            sum += (embedding[i] / peak) * prism_prototypes[c][i];
        scores[c] = sum / length + prism_biases[c];
    }
}

/* Index of the class of an embedding. */
static inline int prism_predict(const float *embedding)
{
    float scores[PRISM_CLASSES];
    int c, best = 0;
    prism_scores(embedding, scores);
    for (c = 1; c < PRISM_CLASSES; ++c)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

#endif
/* %(seal)s */
"""


def c_header(adapter: Adapter) -> str:
    """The text of the header; plain ASCII, whatever the labels are."""
    A, b = (part.astype(np.float32) for part in adapter.fold())
    d, C = A.shape
    rows = (f"  {{\n{_lines(map(_number, column))}\n  }}" for column in A.T)
    return _TEMPLATE % {
        "place": _remark(adapter.facts.place),
        "verdict": _remark(adapter.facts.verdict),
        "encoder": _remark(f"{adapter.encoder} {adapter.encoder_fingerprint[:12]}"),
        "d": d,
        "C": C,
        "labels": ",\n".join(f"  {_string(label)}" for label in adapter.labels),
        "prototypes": ",\n".join(rows),
        "biases": _lines(map(_number, b)),
        "seal": seal.BLANK,
    }


def write_c_header(adapter: Adapter, path: str | os.PathLike[str]) -> None:
    """Write the header."""
    with atomic_write(path) as file:
        file.write(seal.sealed(c_header(adapter).encode("ascii")))


def _number(value: np.float32) -> str:
    text = f"{value:.9g}"
    return f"{text}f" if any(mark in text for mark in ".e") else f"{text}.0f"


def _lines(numbers: Iterable[str]) -> str:
    cells = list(numbers)
    return ",\n".join("    " + ", ".join(cells[i : i + 6]) for i in range(0, len(cells), 6))


def _string(text: str) -> str:
    """A C string of UTF-8; octal, because a hex escape swallows the digits that follow it."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.;:!()_-+/&'"
    return '"' + "".join(chr(x) if x in plain else f"\\{x:03o}" for x in text.encode()) + '"'


def _remark(text: str) -> str:
    """Text that cannot end the comment it stands in."""
    return "".join(x if x.isascii() and (x.isalnum() or x in " ._-,:") else "?" for x in text)

"""Write docs/method.md from the docstrings of the geometry, so that the two cannot differ.

python docs/make_method.py
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).with_name("method.md")
# In the order in which a reader meets them.
MODULES = (
    "calibrate",
    "source",
    "rows",
    "sphere",
    "opca",
    "ccvd",
    "soft",
    "pct",
    "car",
    "abr",
    "graded",
    "shift",
    "balance",
    "frame",
    "compose",
    "repeats",
    "neighbours",
    "guard",
    "labelled",
    "logistic",
    "confidence",
    "overlap",
    "released",
    "products",
)
OPENING = """# The method

This page is made of the docstrings of `src/prism_audio/geometry/` by `python docs/make_method.py`: one
section a file, in the paper's symbols. E holds unit audio embeddings as rows (N, d), T the unit text
embeddings of the classes (C, d).

## How faithful the presets are

`paper` is Algorithm 1 as printed, with two rules where the printed text has no answer. A confidence
that is not positive gets no weight in the centroids of OPCA: a cosine can be negative, and a negative
weight would push a centroid away from the clips it is the mean of (or divide by zero). CCVD removes
fewer than K directions where the within-class scatter has a lower rank (few clips), or where fewer than
C dimensions would remain: further directions hold no variance, so which of them are removed would be
the solver's choice. Where the rotation, the eigenvectors or the ridge are not unique, the sections below
say which solution is taken.

`released` is what the authors' public script computes, number for number, and so only as stable as the
script: a change of one unit in the last place of its input changes 2 to 5 % of its labels, and single
rows altogether. `released` agrees with the script as well as the script agrees with itself; no program
can do better. It is for comparison alone.
"""


def page() -> str:
    """The text of docs/method.md."""
    parts = [OPENING]
    for name in MODULES:
        title, *body = inspect.getdoc(import_module(f"prism_audio.geometry.{name}")).split("\n")
        parts.append(f"## `{name}.py`\n\n{title}\n" + "\n".join(body).rstrip() + "\n")
    # What links a docstring to code is a plain name on a page.
    return re.sub(r":\w+:(`[^`]+`)", r"\1", "\n".join(parts))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

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
    "guard",
    "confidence",
    "overlap",
    "released",
    "products",
)
OPENING = """# The method

This page is made of the docstrings of `src/prism_audio/geometry/` by `python docs/make_method.py`: one
section a file, in the paper's symbols. E holds unit audio embeddings as rows (N, d), T the unit text
embeddings of the classes (C, d).
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

"""NumPy's ``.npz``: several named arrays, packed; they are read at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prism_audio.io.matrices.rows import FileContents, memory_contents


def open_npz(file: Path) -> FileContents:
    """The arrays of a file."""
    with np.load(file, allow_pickle=False) as archive:
        return memory_contents({name: archive[name] for name in archive.files})
